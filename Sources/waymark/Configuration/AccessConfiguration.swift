/// Who may write, and who may read.
struct AccessConfiguration: Hashable {
  /// The file of the API keys; `nil` where there are none.
  let keysFile: String?

  /// Whose tokens are believed; `nil` is nobody's.
  let tokens: TokenConfiguration?

  /// Whether reading needs a key or a token too.
  let readRequiresKey: Bool

  /// Reads the settings.
  ///
  /// - Throws: ``ConfigurationError``, also where reading needs a key and there can be none.
  init(_ settings: Settings) throws(ConfigurationError) {
    keysFile = settings["API_KEYS_FILE"]
    tokens = try TokenConfiguration(settings)
    readRequiresKey = try settings.flag("READ_REQUIRES_KEY")
    guard keysFile != nil || tokens != nil || !readRequiresKey else {
      throw .init(
        variable: "READ_REQUIRES_KEY", value: settings["READ_REQUIRES_KEY"],
        expectation: "needs API_KEYS_FILE, JWT_JWKS_FILE or JWT_JWKS_URL, without which nobody could read")
    }
  }
}
