package pipeline

import (
	"fmt"
	"strings"

	"dlo/dlq/client"
)

// chunkWindow is what the index takes in one piece, in words.
const chunkWindow = 512

// WindowError is a piece of text that is too long for the index and has no
// place to cut it.
type WindowError struct{ Words, Window int }

func (e *WindowError) Error() string {
	return fmt.Sprintf("a chunk has %d words, and the index takes %d", e.Words, e.Window)
}

// chunks cuts a text at its line ends into pieces of at most the window. A line
// over the window breaks the contract with the index: cutting inside a line
// would change what it says.
func chunks(text string) ([]string, error) {
	var out, open []string
	words := 0
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		n := len(strings.Fields(line))
		if n > chunkWindow {
			return nil, &stageError{"chunk", traced(client.Contract(&WindowError{n, chunkWindow}))}
		}
		if words+n > chunkWindow {
			out, open, words = append(out, strings.Join(open, "\n")), nil, 0
		}
		open, words = append(open, line), words+n
	}
	return append(out, strings.Join(open, "\n")), nil
}
