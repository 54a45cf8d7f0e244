// libcrypto and libssl; static inline wraps for the macros that Swift cannot import.
#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* SHA-256 in the caller's memory. EVP, which the deprecation points to, makes two objects for each message; these three functions
   stay in libcrypto, and EVP itself ends in them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int cossl_sha256_begin(SHA256_CTX *context) { return SHA256_Init(context); }
static inline int cossl_sha256_update(SHA256_CTX *context, const void *bytes, size_t count) {
  return SHA256_Update(context, bytes, count);
}
static inline int cossl_sha256_end(SHA256_CTX *context, unsigned char *digest) { return SHA256_Final(digest, context); }
#pragma GCC diagnostic pop

static inline STACK_OF(X509) *cossl_certificates_new(void) { return sk_X509_new_null(); }
/* Takes a reference of its own; 0 when there is no memory. */
static inline int cossl_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
  if (!X509_up_ref(certificate)) return 0;
  if (sk_X509_push(stack, certificate) > 0) return 1;
  X509_free(certificate);
  return 0;
}
static inline int cossl_certificates_count(const STACK_OF(X509) *stack) { return stack ? sk_X509_num(stack) : 0; }
static inline X509 *cossl_certificates_at(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
/* The first one, taken out of the stack and now the caller's; null when there is none. */
static inline X509 *cossl_certificates_take_first(STACK_OF(X509) *stack) { return stack ? sk_X509_shift(stack) : 0; }
static inline void cossl_certificates_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }
/* Flags whose integer types differ from those of their parameters. */
enum { COSSL_NAME_RFC2253 = XN_FLAG_RFC2253 };
static inline void cossl_free(void *bytes) { OPENSSL_free(bytes); }
/* Whether reading PEM failed only because no further block begins. */
static inline int cossl_pem_ended(void) {
  unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}
/* The public key of a point, in C because OSSL_PARAM keeps the pointers to its names. Null unless the point is on the curve. */
static inline EVP_PKEY *cossl_public_key(EVP_PKEY_CTX *context, const char *group, const unsigned char *point, size_t count) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, count),
      OSSL_PARAM_construct_end(),
  };
  EVP_PKEY *key = 0;
  return EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) == 1 ? key : 0;
}
