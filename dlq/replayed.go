package dlq

// Replayed is what a delivery needs to know of the entry that it replays.
type Replayed struct {
	Copy          CopyState
	HeldSHA256    string
	CopyOfAttempt int64 // that brought the stored copy; 0: none did
	RedrivesTotal int64
	Attempts      int64
	// Failure is the attempt that is replayed: of it the id, what it says of its
	// document, and its place in the pipeline's order.
	Failure Attempt
}
