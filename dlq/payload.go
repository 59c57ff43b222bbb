package dlq

// StoredPayload is what storing a document's original bytes came to.
type StoredPayload struct {
	SHA256  string // 64 lower-case hex digits
	Bytes   int64
	Existed bool // the same bytes were held already, and sound
}
