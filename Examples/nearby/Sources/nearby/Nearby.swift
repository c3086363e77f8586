import Foundation
import WaymarkClient

/// A command that prints the places nearest to a coordinate.
@main
enum Nearby {
  static func main() async {
    do {
      let arguments = try Arguments(
        Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
      let waymark = Waymark(baseURL: arguments.baseURL)
      let places = try await waymark.places(near: arguments.coordinate, pageSize: arguments.limit).firstPage()
      print(PointTable(places).text)
    } catch let error as Arguments.UsageError {
      fail("\(error.reason)\n\(Arguments.usage)", status: 64)
    } catch let error as RequestError {
      fail("\(error)\n\(Arguments.usage)", status: 64)
    } catch {
      fail((error as? any LocalizedError)?.failureReason ?? error.localizedDescription, status: 1)
    }
  }

  private static func fail(_ reason: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("nearby: \(reason)\n".utf8))
    exit(status)
  }
}
