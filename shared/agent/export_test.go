package agent

// EncodeReply lets the tests compare the encoder with the contract's decoder.
var EncodeReply = encodeReply
