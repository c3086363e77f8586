import CFuzzer

/// Runs libFuzzer on a function that stops the program where something is wrong, and returns when its time is over.
///
/// - Parameter body: what each input is given to.
public func runFuzzer(_ body: @escaping @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt) {
  var count = CommandLine.argc
  var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
  _ = LLVMFuzzerRunDriver(&count, &arguments, body)
}
