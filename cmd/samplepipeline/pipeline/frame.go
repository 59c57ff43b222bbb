package pipeline

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// What the pipeline and its workers say to each other goes over pipes as frames:
// four bytes of length, most significant first, then JSON.

// maxFrame is how long a frame may be, in bytes. Documents do not travel in them.
const maxFrame = 16 << 20

func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	if len(b) > maxFrame {
		return fmt.Errorf("write a frame: %d bytes are too many", len(b))
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("read a frame: %d bytes are too many", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
