// libssl: static inline wraps for the macros that Swift cannot import, and for what C alone can say.
#pragma once
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <string.h>

/* Options whose macros compute their value. */
static inline unsigned long long cossl_tls_options(void) {
  return SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
         SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;
}
static inline void cossl_tls_set_modes(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
}
static inline void cossl_tls_refuse_tickets(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
}
static inline int cossl_tls_set_minimum(SSL_CTX *context, int version) { return (int)SSL_CTX_set_min_proto_version(context, version); }
static inline int cossl_tls_set_groups(SSL_CTX *context, const char *names) { return (int)SSL_CTX_set1_groups_list(context, names); }
static inline void cossl_tls_set_session_cache(SSL_CTX *context, long mode) { SSL_CTX_set_session_cache_mode(context, mode); }
static inline int cossl_tls_set_host_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline void cossl_tls_on_server_name(SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
  SSL_CTX_set_tlsext_servername_callback(context, callback);
}
static inline int cossl_tls_on_ticket(
    SSL_CTX *context, int (*callback)(SSL *, unsigned char *, unsigned char *, EVP_CIPHER_CTX *, EVP_MAC_CTX *, int)) {
  return (int)SSL_CTX_set_tlsext_ticket_key_evp_cb(context, callback);
}
/* The ticket's code, under HMAC-SHA256. */
static inline int cossl_tls_set_ticket_code(EVP_MAC_CTX *context, const unsigned char *key, size_t count) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, count),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(context, parameters);
}

/* What an attempt means to the socket below it. */
static inline void cossl_bio_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void cossl_bio_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void cossl_bio_forget_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline int cossl_error_is_end(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

static inline int cossl_error_is_no_record(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER;
}

/* The names in a certificate's subjectAltName, decoded once however many are asked for; null when there are none. */
static inline void *cossl_names(X509 *certificate) { return X509_get_ext_d2i(certificate, NID_subject_alt_name, 0, 0); }
static inline int cossl_names_count(void *names) { return names ? sk_GENERAL_NAME_num((GENERAL_NAMES *)names) : 0; }
static inline void cossl_names_free(void *names) { GENERAL_NAMES_free((GENERAL_NAMES *)names); }
/* The index-th of them, written to `name`; its length, 0 when there is no room for it, -1 when it is no DNS name. */
static inline int cossl_dns_name(void *names, int index, char *name, size_t room) {
  GENERAL_NAME *entry = sk_GENERAL_NAME_value((GENERAL_NAMES *)names, index);
  if (entry->type != GEN_DNS) return -1;
  int length = ASN1_STRING_length(entry->d.dNSName);
  if (length < 0 || (size_t)length > room) return 0;
  memcpy(name, ASN1_STRING_get0_data(entry->d.dNSName), (size_t)length);
  return length;
}
