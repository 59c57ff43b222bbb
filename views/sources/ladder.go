package sources

import "fmt"

// rungs says how far a source is set up.
func rungs(l Ladder) string { return fmt.Sprintf("%d of %d steps", l.Done, l.Of) }
