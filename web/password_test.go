package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"dlo/dlq"
)

func TestAPasswordIsVerifiedAgainstItsHash(t *testing.T) {
	p, ctx := NewPasswords(), context.Background()
	password := "a rather long pässword"
	phc, err := p.Hash(ctx, password)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`).MatchString(phc) {
		t.Errorf("the hash is %s", phc)
	}
	if again, _ := p.Hash(ctx, password); again == phc {
		t.Error("two hashes of one password are equal: no salt")
	}
	for attempt, want := range map[string]bool{password: true, password + " ": false, strings.ToUpper(password): false, "": false, password[:20]: false} {
		match, rehash, err := p.Verify(ctx, phc, attempt)
		if err != nil || match != want || rehash {
			t.Errorf("%q: match %v, rehash %v, %v; want %v", attempt, match, rehash, err, want)
		}
	}
}

func TestAHashOfAnotherCostIsToBeReplaced(t *testing.T) {
	salt := []byte("sixteen bytes...")
	phc := fmt.Sprintf("$argon2id$v=19$m=64,t=1,p=2$c2l4dGVlbiBieXRlcy4uLg$%s", rawStd(argon2.IDKey([]byte("an old password"), salt, 1, 64, 2, 32)))
	p := NewPasswords()
	if match, rehash, err := p.Verify(context.Background(), phc, "an old password"); !match || !rehash || err != nil {
		t.Errorf("match %v, rehash %v, %v", match, rehash, err)
	}
	if match, rehash, err := p.Verify(context.Background(), phc, "another"); match || rehash || err != nil {
		t.Errorf("wrong password: match %v, rehash %v, %v", match, rehash, err)
	}
}

func TestNobodysPasswordTakesAsLongAndNeverMatches(t *testing.T) {
	p, ctx := NewPasswords(), context.Background()
	phc, _ := p.Hash(ctx, "some real password")
	took := func(phc string) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			if match, _, err := p.Verify(ctx, phc, "a wrong password"); match || err != nil {
				t.Fatal(match, err)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	if real, nobody := took(phc), took(""); nobody < real/2 || nobody > real*2 {
		t.Errorf("somebody %s, nobody %s", real, nobody)
	}
	p.dummy = phc
	if match, _, _ := p.Verify(ctx, "", "some real password"); match {
		t.Error("nobody signed in with the password that stands in for none")
	}
	empty, _ := p.Hash(ctx, "")
	if match, _, _ := p.Verify(ctx, empty, strings.Repeat("x", 1000)); match {
		t.Error("a password that is too long was taken for an empty one")
	}
}

func TestAStoredHashThatIsOddIsAnErrorAndNotALogin(t *testing.T) {
	good := "$argon2id$v=19$m=19456,t=2,p=1$c2l4dGVlbiBieXRlcy4uLg$c2l4dGVlbiBieXRlcy4uLnNpeHRlZW4gYnl0ZXMuLi4"
	p := NewPasswords()
	if _, _, err := p.Verify(context.Background(), good, "x"); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{
		"x", "$", "plain password", "$2b$10$abcdefghijklmnopqrstuv", strings.Replace(good, "argon2id", "argon2i", 1), strings.Replace(good, "v=19", "v=16", 1),
		strings.Replace(good, "m=19456", "m=4194304", 1), strings.Replace(good, "m=19456", "m=0", 1), strings.Replace(good, "t=2", "t=0", 1), strings.Replace(good, "t=2", "t=4000000000", 1),
		strings.Replace(good, "p=1", "p=0", 1), strings.Replace(good, "p=1", "p=255", 1), strings.Replace(good, "$c2l4", "$!!!!", 1), good + "$", good[:40] + "$",
	} {
		match, _, err := p.Verify(context.Background(), odd, "x")
		if match || err == nil {
			t.Errorf("%s: match %v, error %v", odd, match, err)
		} else if strings.Contains(err.Error(), "c2l4") {
			t.Errorf("%s: the error repeats the hash", odd)
		}
	}
}

func TestNoMoreHashesRunAtATimeThanThereAreSlots(t *testing.T) {
	p := NewPasswords()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Hash(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("hashing with no slot free: %v", err)
	}
	if _, _, err := p.Verify(ctx, "", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("verifying with no slot free: %v", err)
	}
}

func TestGuessablePasswordsAreRefused(t *testing.T) {
	email := "jane.roe@example.com"
	for _, password := range []string{
		"", "short", "elevenchars", "éléphants!!", strings.Repeat("x7", 65), "\xff\xfe valid? \xff\xff",
		"aaaaaaaaaaaa", "............", "            ", "abababababab", "abcabcabcabc", "1234123412341", "ééééééééééééé",
		"123456789012", "012345678901", "987654321098", "abcdefghijkl", "zyxwvutsrqpo", "qwertyuiopas", "QWERTYUIOP[]", "qwertzuiopas", "azertyuiopqs",
		"1qaz2wsx3edc", "1q2w3e4r5t6y", "qazwsxedcrfv", "!@#$%^&*()_+", "poiuytrewq12", "qwerty123456", "asdfghjkl123",
		"password1234", "Password2024!", "P@ssw0rd2024", "PASSWORD!!!!!", "passwordpassword", "mypassword123", "1234password", "p4ssw0rd....", "passwort12345", "motdepasse123",
		"welcome12345", "Welcome2024!", "letmein12345", "changeme1234", "admin1234567", "adminadmin12", "administrator", "Administrator1", "rootroot1234",
		"iloveyou1234", "summer2025!!", "Winter2025!!", "monday-friday-1", "superman2024", "football1234", "correcthorsebatterystaple", "Correct Horse Battery Staple",
		"thisismypassword", "newpassword1", "defaultpassword", "deadletteroffice", "DeadLetter2024!", "test12345678", "admin2024user1", "testtesttest", "trustno1trustno1",
		"jane.roe@example.com", "jane.roe1234", "Jane.Roe!2024", "example.com123", "xjane.roex99", "example12345",
	} {
		err := CheckPassword(password, email)
		var known *dlq.Error
		if !errors.As(err, &known) || known.Kind != dlq.KindInvalid || len(known.Faults) != 1 || known.Faults[0].Pointer != "/password" {
			t.Errorf("%q: %v, want it refused", password, err)
			continue
		}
		if len(password) >= 12 && strings.Contains(err.Error(), password) {
			t.Errorf("%q: the error repeats it", password)
		}
	}
}

func TestLongPasswordsOfAnyCompositionAreAccepted(t *testing.T) {
	for _, password := range []string{
		"twelve chars", "a rather long pässword", "geheimnisvoller Wald", "correct zebra battery lamp", "8391750264931", "日本語のパスワードですよねえ", "🐴🔋📎✅🦊🐻🐼🐨🐯🦁🐮🐷",
		"tr0ub4dor&3-kettle", "lusab-babad-gutih-tugad-nosit", "jane.roe has a blue bicycle", strings.Repeat("a1b2c9z8", 16), strings.Repeat("ß7_x9", 25) + "abc",
	} {
		if err := CheckPassword(password, "jane.roe@example.com"); err != nil {
			t.Errorf("%q: %v", password, err)
		}
	}
}

func TestGeneratedPasswordsPassTheirOwnRules(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		password := GeneratePassword()
		if !regexp.MustCompile(`^([bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]-?){5}$`).MatchString(password) || len(password) != 29 || seen[password] {
			t.Fatalf("a generated password has an odd form (%d characters)", len(password))
		}
		if err := CheckPassword(password, "a@example.com"); err != nil {
			t.Fatal(err)
		}
		seen[password] = true
	}
}

func BenchmarkPasswordHash(b *testing.B) {
	p := NewPasswords()
	for b.Loop() {
		if _, err := p.Hash(context.Background(), "a rather long password"); err != nil {
			b.Fatal(err)
		}
	}
}

func rawStd(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }
