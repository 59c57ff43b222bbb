package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"

	"dlo/dlq"
)

// The cost of a password hash: 19 MiB, two passes, one lane, which is the
// least that OWASP recommends for Argon2id; about 40 ms on a small server.
const (
	argonMemory  = 19 << 10 // KiB
	argonPasses  = 2
	argonLanes   = 1
	argonSaltLen = 16
	argonKeyLen  = 32
)

// Passwords hashes and verifies passwords with Argon2id (RFC 9106). Only as
// many hashes run at a time as there are processors: more would not be faster,
// and each takes 19 MiB.
type Passwords struct {
	slots chan struct{}
	dummy string
}

// NewPasswords makes a hasher. It hashes once, for the comparison with nobody.
func NewPasswords() *Passwords {
	p := &Passwords{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.dummy = encodePHC(newSalt(), GeneratePassword())
	return p
}

// Hash gives a PHC string, `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`. It
// waits for a slot; an error means that ctx ended first.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.wait(ctx); err != nil {
		return "", err
	}
	defer p.done()
	return encodePHC(newSalt(), password), nil
}

// Verify says whether the password is the one of the PHC string, and whether
// the string should be replaced because the cost has changed since. With an
// empty string, as for an address that nobody has, it does the same work and
// answers false, so that the time tells nothing. A string that is not
// Argon2id, or whose cost is out of all proportion, is an error.
func (p *Passwords) Verify(ctx context.Context, phc, password string) (match, rehash bool, err error) {
	nobody := phc == ""
	if nobody {
		phc = p.dummy
	}
	h, err := parsePHC(phc)
	if err != nil {
		return false, false, err
	}
	if err := p.wait(ctx); err != nil {
		return false, false, err
	}
	defer p.done()
	if len(password) > 4*maxPassword { // too long to be anybody's: do not hash a megabyte
		password = ""
		nobody = true
	}
	got := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.key)))
	match = subtle.ConstantTimeCompare(got, h.key) == 1 && !nobody
	current := h.memory == argonMemory && h.passes == argonPasses && h.lanes == argonLanes &&
		len(h.salt) == argonSaltLen && len(h.key) == argonKeyLen
	return match, match && !current, nil
}

func (p *Passwords) wait(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (p *Passwords) done() { <-p.slots }

// phcHash is a PHC string taken apart.
type phcHash struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

func encodePHC(salt []byte, password string) string {
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, argonKeyLen)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// parsePHC bounds the cost, because a row that somebody has edited must not
// take all memory. Its errors never repeat the string.
func parsePHC(s string) (phcHash, error) {
	var h phcHash
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, fmt.Errorf("a stored password is not an Argon2id hash of version %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.lanes); err != nil {
		return h, fmt.Errorf("a stored password's cost cannot be read")
	}
	if h.memory < 8 || h.memory > 256<<10 || h.passes < 1 || h.passes > 16 || h.lanes < 1 || h.lanes > 16 {
		return h, fmt.Errorf("a stored password's cost is out of range")
	}
	var errSalt, errKey error
	h.salt, errSalt = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.key, errKey = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if errSalt != nil || errKey != nil || len(h.salt) < 8 || len(h.salt) > 64 || len(h.key) < 16 || len(h.key) > 64 {
		return h, fmt.Errorf("a stored password's salt or hash cannot be read")
	}
	return h, nil
}

func newSalt() []byte {
	salt := make([]byte, argonSaltLen)
	rand.Read(salt)
	return salt
}

// GeneratePassword makes a password of 80 random bits that can be read out
// over the telephone: five words of alternating consonants and vowels, each
// of 16 bits, such as "lusab-babad-gutih-tugad-nosit".
func GeneratePassword() string {
	const consonants, vowels = "bdfghjklmnprstvz", "aiou"
	raw := make([]byte, 10)
	rand.Read(raw)
	words := make([]string, 5)
	for i := range words {
		bits := uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
		words[i] = string([]byte{
			consonants[bits>>12], vowels[bits>>10&3], consonants[bits>>6&15], vowels[bits>>4&3], consonants[bits&15],
		})
	}
	return strings.Join(words, "-")
}

// passwordFault is the error of a password that is not accepted as a new one.
func passwordFault(detail string) error {
	return dlq.Invalid("Choose another password: "+detail+".", dlq.Fault{Pointer: "/password", Detail: detail})
}
