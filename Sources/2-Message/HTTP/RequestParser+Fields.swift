import Bytes

extension RequestParser {
  /// ``RequestHead/prepareFields(_:)``.
  mutating func prepareFields(_ policy: FieldPolicy) -> HeadRefusal? {
    precondition(!isPrepared, "fields are prepared once")
    if connection.otherCount > 0 {
      if let refusal = table.dropFieldsNamedByConnection(isGateField: { policy.inputs.containsTwin(of: $0) }) { return refusal }
    }
    var forwardedForEntries = 0
    let count = table.fields.count
    let hasNames = !policy.inputs.isEmpty || !policy.changes.names.isEmpty
    for index in 0..<count {
      let field = table.fields[index]
      var flags = field.flags
      if flags.contains(.underscore) {
        if policy.underscores == .reject { return .underscoreInFieldName }
        if policy.underscores == .drop { flags.insert(.dropped) }
      }
      switch field.name {
      case .other:
        if hasNames { flags.formUnion(namedBy(policy, field)) }
      case .twin, .appAttestTwin: flags.insert(.dropped)
      case .appAttest: flags.formUnion(policy.keepsInputs && isInput(field, policy) ? [] : .withheld)
      case .forwardedFor:
        forwardedForEntries += table.bytes.withReadable { 1 + $0.bytes(at: field.valueRange).countOfCommas }
        guard forwardedForEntries <= HeadLimits.forwardedForEntriesMax else { return .forwardingLoop }
        flags.insert(.withheld)
      case .forwarding, .requestID, .host, .contentLength, .expect: flags.insert(.withheld)
      case .accept, .authorization, .cookie, .date, .cacheControl, .targetedCacheControl:
        if hasNames { flags.formUnion(namedBy(policy, field)) }
      default: flags.insert(.dropped)
      }
      if flags != field.flags { table.fields[index].flags = flags }
    }
    isPrepared = true
    return nil
  }

  private func isInput(_ field: Field, _ policy: FieldPolicy) -> Bool {
    table.bytes.withReadable { policy.inputs.contains($0.bytes(at: field.nameRange)) }
  }

  private func namedBy(_ policy: FieldPolicy, _ field: Field) -> Field.Flags {
    table.bytes.withReadable { bytes in
      let name = bytes.bytes(at: field.nameRange)
      if policy.changes.names.contains(name) { return .withheld }
      if policy.inputs.contains(name) { return policy.keepsInputs ? [] : .withheld }
      return field.flags.contains(.oddSeparator) && policy.inputs.containsTwin(of: name) ? .dropped : []
    }
  }
}
