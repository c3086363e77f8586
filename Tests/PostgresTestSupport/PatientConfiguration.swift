public import PostgresStore

extension PostgresConfiguration {
  /// Returns a configuration whose timeouts are so long that no call exceeds them because the machine is busy.
  public static func patient(url: String, poolSize: Int = 4) throws -> PostgresConfiguration {
    var configuration = try PostgresConfiguration(
      url: url, poolSize: poolSize, statementTimeoutMilliseconds: 600_000)
    configuration.waitTimeoutMilliseconds = 600_000
    configuration.commitTimeoutMilliseconds = 600_000
    return configuration
  }
}
