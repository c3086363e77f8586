/// The version of this program.
let waymarkVersion = "0.1.0"
