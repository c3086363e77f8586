import Points

/// What an import would do to the places that were there when it began.
struct ImportRehearsal {
  /// What it would do, in numbers.
  private(set) var report = ImportReport()

  /// Decides on all the rows.
  init(_ stage: ImportStage<StagedIdentity>, mode: ImportMode) {
    let verdicts = RowVerdicts(on: stage)
    for index in 0..<stage.count {
      if let superseder = verdicts.superseder(of: index) {
        report.reject(.superseded(stage.number(at: index), by: stage.number(at: superseder)))
        continue
      }
      if let isChange = stage.isKnownChange(at: index) {
        if isChange { report.updated += 1 } else { report.unchanged += 1 }
        continue
      }
      switch stage.entry(at: index).outcome {
      case .created: report.created += 1
      case .updated: report.updated += 1
      case .ambiguous: report.reject(.ambiguous(stage.number(at: index)))
      }
    }
    report.add(
      stage.repeats.report { later in stage.number(at: verdicts.superseder(of: later) ?? later) }
    )
    if mode == .atomic, report.rejected > 0 { report.takeNothing() }
  }
}

extension ImportStage: RowIdentities where Entry == StagedIdentity {
  func idHash(at index: Int) -> Int? { entry(at: index).idHash }

  func originHash(at index: Int) -> Int? { entry(at: index).originHash }

  func haveSameID(_ left: Int, _ right: Int) -> Bool { entry(at: left).hasSameID(as: entry(at: right)) }

  func haveSameOrigin(_ left: Int, _ right: Int) -> Bool { entry(at: left).hasSameOrigin(as: entry(at: right)) }
}
