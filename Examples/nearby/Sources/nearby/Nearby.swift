import Foundation
import WaymarkClient

/// A command that prints the places nearest to a coordinate.
@main
enum Nearby {
  static func main() async {
    do {
      let arguments = try Arguments(
        Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
      let request = PointsOfInterestRequest(baseURL: arguments.baseURL, limit: arguments.limit)
      let places = try await APIRequestLoader(apiRequest: request).loadAPIRequest(requestData: arguments.coordinate)
      print(PointTable(places).text)
    } catch let error as Arguments.UsageError {
      fail("\(error.reason)\n\(Arguments.usage)", status: 64)
    } catch let error as RequestError {
      fail("\(error)\n\(Arguments.usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  private static func fail(_ reason: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("nearby: \(reason)\n".utf8))
    exit(status)
  }
}
