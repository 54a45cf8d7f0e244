import EventLoop

/// Everything that is wrong with a configuration, in the order of the file.
public struct ConfigurationFailure: Error, Sendable, Equatable {
  /// At least one.
  public var problems: [ConfigurationProblem]
}

/// The start-up path from a file to a ``Configuration``, which `attestgate check` runs too.
public enum ConfigurationLoader {
  /// Reads the file and all that it names; paths within it are relative to its folder.
  public static func load(
    file: String, environment: ConfigurationEnvironment = .process
  ) throws(ConfigurationFailure) -> Configuration {
    let text: [UInt8]
    do throws(FileFailure) {
      text = try InputFile.readRegular(file, bytesMax: bytesMax)
    } catch {
      let problem = ConfigurationProblem(file: file, line: 1, column: 1, path: "", message: "the file cannot be read (\(error))")
      throw ConfigurationFailure(problems: [problem])
    }
    return try load(text: text, file: file, environment: environment)
  }

  /// Nobody writes as much by hand.
  private static let bytesMax = 4 << 20

  /// Reads a text as if it stood in `file`.
  public static func load(
    text: [UInt8], file: String, environment: ConfigurationEnvironment
  ) throws(ConfigurationFailure) -> Configuration {
    let problems = ProblemList(file: file)
    let written = written(text, problems, environment)
    if let written {
      let meaning = Meaning(file: file, problems: problems, environment: environment)
      let configuration = meaning.configuration(of: written)
      if problems.isEmpty, let configuration { return configuration }
    }
    throw ConfigurationFailure(problems: problems.sorted)
  }

  private static func written(
    _ text: [UInt8], _ problems: ProblemList, _ environment: ConfigurationEnvironment
  ) -> WrittenConfiguration? {
    do throws(YAMLFailure) {
      guard let document = try YAMLReader.read(text) else {
        problems.add(Place(line: 1, column: 1), "", "the file configures nothing; begin with a copy of the example proxy.yaml")
        return nil
      }
      let expansion = VariableExpansion(variables: environment.variable, problems: problems)
      return Section(expansion.expanded(document), path: "", problems: problems).map(WrittenConfiguration.init)
    } catch {
      problems.add(error.place, "", error.message)
      return nil
    }
  }
}
