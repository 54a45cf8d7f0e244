import EventLoop

/// `rate:` of a route or of the endpoints: what each kind of sender may do, or `off` for as often as it likes.
struct WrittenRate {
  var address: Placed<Rate?>?
  /// `key` of a route, `enrolment` of the endpoints.
  var other: Placed<Rate?>?

  /// Nil when there is none. `other` is the key beside `address`.
  init?(_ section: Section, other key: String) {
    let rate = section.wordOrSection("rate") { (text: String) throws(Wrong) -> Rate? in
      if text == "off" { return nil }
      throw Wrong("must be off or a section such as {address: 50/s burst 200, \(key): 10/s}, and is \"\(text)\"")
    }
    if let off = rate.word {
      address = off
      other = off
      return
    }
    guard let inner = rate.section else { return nil }
    address = inner.value("address", RateText.rate)
    other = inner.value(key, RateText.rate)
    inner.finish()
  }
}
