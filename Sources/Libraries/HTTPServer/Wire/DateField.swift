import Basics
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A thread's `Date` field, formatted at most once a second.
final class DateField {
  private var second = -1
  private var text = ""
  private var line: [UInt8] = []

  /// The whole field with its line end.
  var bytes: [UInt8] {
    refresh()
    return line
  }

  var value: String {
    refresh()
    return text
  }

  private func refresh() {
    let now = Int(time(nil))
    guard now != second else { return }
    second = now
    text = HTTPDate.text(secondsSinceEpoch: now)
    line = Array("date: \(text)\r\n".utf8)
  }

  private static let perThread = PerThread { DateField() }

  /// The calling thread's field; it must not leave the thread.
  static var current: DateField { perThread.current }
}

/// A value for each thread, created when the thread first uses it.
final class PerThread<Value: AnyObject>: @unchecked Sendable {
  // Sendable: the variable is meant for many threads, and each finds only the value that it has stored.
  private let variable = ThreadSpecificVariable<Value>()
  private let make: @Sendable () -> Value

  init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  /// The calling thread's value; it must not leave the thread.
  var current: Value {
    if let value = variable.currentValue { return value }
    let value = make()
    variable.currentValue = value
    return value
  }
}
