import ArgumentParser
import Hosting
import ServerFeatures

/// The texts that describe the settings, generated from their declarations.
enum SettingsDocumentation {
  /// The text of `docs/configuration.md`.
  static var page: String {
    let tables = Setting.groupsOfServer.map { "## \($0.title)\n\n\(table($0.settings(with: Features.all)))" }
    let commands = Features.all.compactMap { $0.command?.configuration.commandName }.map { "`\($0)`" }
      .joined(separator: ", ")
    return """
      # Configuration

      <!-- Generated from Sources/Core/Hosting/Settings: swift run waymark settings --markdown > docs/configuration.md -->

      Settings are environment variables, or options of the same name in kebab case (`--http-port`); the option wins. An \
      empty value counts as not set. A boolean is `1`, `true` or `yes`, or `0`, `false` or `no`; times are whole \
      milliseconds. An invalid value stops the start with one line that names the setting, and so does a setting that \
      would be ignored, such as one of the database with the memory store. \
      [`deploy/waymark.example.env`](../deploy/waymark.example.env) lists all settings of the server for an environment \
      file.

      \(tables.joined(separator: "\n\n"))

      ## \(Setting.client.title)

      Settings of the commands that call a running server: `search`, `follow`, \(commands), `backup`, and with `--url` \
      `import`, `export` and `duplicates`.

      \(table(Setting.client.settings))

      `health`, and without `--url` `search`, \(commands) and `backup`, read `HTTP_HOST`, `HTTP_PORT` and \
      `TLS_CERTIFICATE_FILE` to find the server on this machine. The commands that work on a database (`migrate`, \
      `import`, `export`, `sources`, `duplicates`, and `follow --to postgresql://…`) read the settings of \
      [PostgreSQL](#postgresql) and `EDITS_MAX` as `serve` does, and an invalid one stops them too; all but `export` \
      also read `MIGRATIONS_PATH`. Of these settings the two that they need, `DATABASE_URL` and `MIGRATIONS_PATH`, are options as \
      well; `follow` has the address in `--to` alone. `check` reads all settings of the server.

      Exit codes: 0 done, 1 failed, 64 bad usage, 65 bad data, 69 store unavailable.

      """
  }

  /// The text of `deploy/waymark.example.env`: every setting of the server with its default, commented out.
  static var environmentFile: String {
    let groups = Setting.groupsOfServer.map { group in
      let entries = group.settings(with: Features.all).map { setting in
        var value = ""
        if case .value(let text) = setting.fallback { value = text }
        return "# \(setting.help.withoutBackticks) (\(setting.values); default: "
          + "\(setting.fallback.markdown.withoutBackticks))\n#\(setting.name)=\(value)\n"
      }
      return "## \(group.title)\n\n\(entries.joined(separator: "\n"))"
    }
    return """
      # Settings of the service Waymark, one NAME=value per line. Generated: waymark settings > deploy/waymark.example.env

      \(groups.joined(separator: "\n"))
      """
  }

  private static func table(_ settings: [Setting]) -> String {
    let rows = settings.map { setting in
      var meaning = setting.help
      if !setting.details.isEmpty { meaning += " " + setting.details }
      switch setting.option {
      case .sameName: break
      case .named(let option): meaning += " The option is `--\(option)`."
      case .none: meaning += " There is no option."
      }
      return "| `\(setting.name)` | \(setting.values) | \(setting.fallback.markdown) | \(meaning) |"
    }
    return (["| setting | values | default | meaning |", "| --- | --- | --- | --- |"] + rows).joined(separator: "\n")
  }
}

extension Setting {
  /// The accepted values in words.
  fileprivate var values: String {
    switch kind {
    case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .numberOrZero(let range): "\(range.lowerBound) to \(Int(range.upperBound)), or 0"
    case .milliseconds(let range): "\(range.lowerBound) to \(range.upperBound) ms"
    case .choice(let choices): choices.joined(separator: ", ")
    case .text, .list, .file, .folder, .boolean: placeholder
    }
  }
}
