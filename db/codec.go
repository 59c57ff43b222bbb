package db

import (
	"encoding/json"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// codec compresses what is long and read seldom: traces and validation output.
// It has no dictionary, so that no text of one document stays in the bytes of
// another.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(512<<10))
	if err != nil {
		return codec{}, fmt.Errorf("make the compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(16<<20))
	if err != nil {
		return codec{}, fmt.Errorf("make the decompressor: %w", err)
	}
	return codec{enc, dec}, nil
}

func (c codec) pack(b []byte) []byte { return c.enc.EncodeAll(b, nil) }

func (c codec) unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	return c.dec.DecodeAll(b, nil)
}

func (c codec) packJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return c.pack(b), nil
}

func (c codec) unpackJSON(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	plain, err := c.unpack(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}
