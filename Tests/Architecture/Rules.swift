/// A rule of the floors.
enum Rule: String, CaseIterable {
  /// A module imports no module of a higher floor, and a feature no other feature.
  case imports
  /// Neither the core nor a library names a feature, and a library nothing of Waymark and its places.
  case names
  /// Arguments travel as parameters: only libraries have values that are local to a task.
  case declares

  /// The words of features that can be left out.
  private static let features = ["/ogc", "mcp", "nominatim", "photon", "suggest", "webhook"]

  /// The words of Waymark and of its domain.
  private static let places = [
    "/locations", "point of interest", "pointdraft", "pointid", "pointofinterest", "pointquery", "points of interest",
    "pointstore", "waymark",
  ]

  /// The advice for code that breaks the rule.
  var advice: String {
    switch self {
    case .imports: "move what it needs to a lower floor, or the code that needs it to a feature or the program"
    case .names: "move the code to the feature, take the value as a parameter, or use a neutral name"
    case .declares: "pass the value as a parameter"
    }
  }

  /// Returns the paths of the files that break the rule.
  func findings(in modules: [Module]) -> [Finding: [String]] {
    var findings: [Finding: [String]] = [:]
    for module in modules {
      for (object, files) in objects(in: module, of: modules) where !files.isEmpty {
        findings[Finding(module: module.name, rule: self, object: object)] = files
      }
    }
    return findings
  }

  private func objects(in module: Module, of modules: [Module]) -> [(String, files: [String])] {
    guard let floor = module.floor else { return [] }
    func files(naming words: [String]) -> [(String, files: [String])] { words.map { ($0, module.files(naming: $0)) } }
    return switch (self, floor) {
    case (.imports, _):
      module.imports.filter { name, _ in
        modules.contains { $0.name == name && $0.name != module.name && !module.mayImport($0) }
      }
      .map { ($0.key, $0.value) }
    case (.names, .libraries): files(naming: Self.features + Self.places)
    case (.names, .core): files(naming: Self.features)
    case (.declares, .core), (.declares, .features), (.declares, .program): files(naming: ["@tasklocal"])
    case (.names, _), (.declares, .libraries): []
    }
  }
}

extension Module {
  fileprivate func mayImport(_ other: Module) -> Bool {
    guard let floor, let lower = other.floor else { return false }
    return floor == .features && lower == .features ? feature == other.feature : lower <= floor
  }
}

/// A breach of a rule by a module, as `Tests/Architecture/Exceptions.txt` states it: `LocationsAPI names photon`.
struct Finding: Hashable, CustomStringConvertible {
  let module: String
  let rule: Rule
  let object: String

  var description: String { "\(module) \(rule.rawValue) \(object)" }
}

/// The files that break rules, as many as `Tests/Architecture/Exceptions.txt` states.
struct Exceptions {
  /// The numbers of files.
  let counts: [Finding: Int]
  /// The lines that are no exceptions.
  let invalidLines: [String]

  init(_ text: String) {
    var counts: [Finding: Int] = [:]
    var invalidLines: [String] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ", maxSplits: 2)
      let end = words.last?.lastIndex(of: ":")
      if words.count == 3, let end, let rule = Rule(rawValue: String(words[1])),
        let count = Int(words[2][end...].dropFirst(2)), count > 0,
        counts.updateValue(
          count, forKey: Finding(module: String(words[0]), rule: rule, object: String(words[2][..<end]))) == nil
      {
        continue
      }
      invalidLines.append(String(line))
    }
    self.counts = counts
    self.invalidLines = invalidLines
  }

  /// Returns a sentence for each finding of a rule that differs from the exceptions, in order.
  func differences(from findings: [Finding: [String]], of rule: Rule) -> [String] {
    let all = Set(findings.keys).union(counts.keys.filter { $0.rule == rule })
    return all.sorted { "\($0)" < "\($1)" }.compactMap { finding in
      let files = findings[finding] ?? []
      let count = counts[finding] ?? 0
      if files.count > count {
        return "\(finding): \(files.count) files, \(count) at most; \(rule.advice). \(files.joined(separator: ", "))"
      }
      if files.isEmpty {
        return "\(finding): no file any more; remove its line from Tests/Architecture/Exceptions.txt"
      }
      if files.count < count {
        return "lower the exception in Tests/Architecture/Exceptions.txt to this line:\n\(finding): \(files.count)"
      }
      return nil
    }
  }
}

/// The ceilings of `Tests/Architecture/Budgets.txt`: the lines of Swift that each module has at most.
struct Budgets {
  let ceilings: [String: Int]

  init(_ text: String) {
    var ceilings: [String: Int] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ")
      ceilings[String(words[0])] = words.count == 2 ? Int(words[1]) : nil
    }
    self.ceilings = ceilings
  }

  /// Returns the ceiling of a module of so many lines: 2 % more.
  static func ceiling(ofLines count: Int) -> Int { count + (count + 49) / 50 }

  /// Returns a sentence for each module that has more lines than its ceiling, or so many fewer that the ceiling is to be
  /// lowered, in order.
  func differences(from lineCounts: [String: Int]) -> [String] {
    Set(lineCounts.keys).union(ceilings.keys).sorted().compactMap { name in
      guard let count = lineCounts[name] else {
        return "there is no module \(name): remove its line from Tests/Architecture/Budgets.txt"
      }
      let line = "\(name) \(Self.ceiling(ofLines: count))"
      guard let ceiling = ceilings[name] else { return "add to Tests/Architecture/Budgets.txt:\n\(line)" }
      if count > ceiling {
        return """
          \(name) has \(count) lines, \(ceiling) at most: delete or move code, or raise the ceiling in \
          Tests/Architecture/Budgets.txt with the reason in the message of the commit:
          \(line)
          """
      }
      // Twice the slack, so that a change of some lines needs no new ceiling.
      if ceiling > Self.ceiling(ofLines: Self.ceiling(ofLines: count)) + 20 {
        return "\(name) has \(count) lines: lower the ceiling in Tests/Architecture/Budgets.txt to this line:\n\(line)"
      }
      return nil
    }
  }
}
