package web

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The length of a password in characters. There is no rule about which: length
// and not being guessable are what counts (NIST SP 800-63B §3.1.1.2).
const (
	minPassword = 12
	maxPassword = 128
)

// CheckPassword says why a new password is not accepted, as KindInvalid with a
// fault at /password; the password itself is never in the error. Lists of
// common passwords hold few of twelve characters and more, and nearly all of
// those are made by a handful of recipes, so the recipes are refused: one
// character or a short piece repeated, a walk along the alphabet, the digits
// or the keyboard, a common word dressed up with digits and signs, and the
// person's own address.
func CheckPassword(password, email string) error {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return passwordFault("it is not valid text")
	case n < minPassword:
		return passwordFault(fmt.Sprintf("at least %d characters are needed, this has %d", minPassword, n))
	case n > maxPassword:
		return passwordFault(fmt.Sprintf("at most %d characters are possible, this has %d", maxPassword, n))
	}
	plain := strings.ToLower(password)
	letters := lettersOf(plain)
	switch {
	case repeats([]rune(plain)):
		return passwordFault("it repeats one short piece")
	case mostlyWalk(plain):
		return passwordFault("it is a row of neighbours on the keyboard or in the alphabet")
	case commonPasswords[plain] || commonPasswords[letters] || commonPasswords[unleet(plain)]:
		return passwordFault("it is among those that are tried first")
	case madeOfCommonWords(letters) || madeOfCommonWords(unleet(plain)):
		return passwordFault("it is made of words that are tried first")
	case fromAddress(plain, email):
		return passwordFault("it is made of your e-mail address")
	}
	return nil
}

// commonPasswords are phrases that lists of leaked passwords have in twelve
// characters and more, in lower case; what the other rules find is not here.
var commonPasswords = setOf(
	"correcthorsebatterystaple", "trustno1trustno1", "iloveyouforever", "iloveyousomuch", "iloveyoubaby",
	"letmeinplease", "opensesame", "openthedoor", "thequickbrownfox", "maytheforcebewithyou", "tobeornottobe",
	"manchesterunited", "liverpoolfc", "realmadrid", "chelseafootball", "newyorkyankees", "dallascowboys",
	"harrypotter", "spongebob", "pokemonmaster", "starwarsfan", "lordoftherings", "gameofthrones",
	"jesuschrist", "godisgood", "blessedbethelord", "ilovejesus", "jesusislord", "whatever",
	"administrator", "superadministrator", "systemadministrator", "defaultpassword", "temporarypassword",
	"thisismypassword", "mypassword", "nopassword", "newpassword", "changemenow", "pleasechangeme", "changethis",
	"deadletteroffice", "deadletterqueue", "fuckyou", "fuckoff", "sunshine", "unbelievable", "businessman",
	"motherfucker", "girlfriend", "basketball", "leicestercity", "onedirection", "justinbieber", "michaeljackson",
)

// commonWords are what a password is often made of, once digits and signs are
// gone.
var commonWords = setOf(
	"password", "passwort", "passwd", "pass", "pwd", "motdepasse", "contrasena", "kennwort", "secret", "geheim",
	"admin", "root", "user", "login", "guest", "test", "testing", "demo", "default", "temp", "master", "super",
	"welcome", "willkommen", "bienvenue", "hello", "hallo", "letmein", "change", "changeme", "me", "my", "is", "the",
	"this", "new", "old", "now", "please", "qwerty", "qwertz", "azerty", "abc", "abcd", "asdf", "iloveyou", "love",
	"you", "i", "a", "dragon", "monkey", "princess", "sunshine", "shadow", "football", "baseball", "superman",
	"batman", "starwars", "pokemon", "summer", "winter", "spring", "autumn", "sommer", "january", "february",
	"march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	"monday", "friday", "company", "office", "server", "database", "system", "security", "dlo", "deadletter",
)

func setOf(items ...string) map[string]bool {
	set := make(map[string]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}

func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// unleet undoes the usual replacements of letters by digits and signs inside
// a word, then keeps the letters.
func unleet(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return lettersOf(strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i").Replace(s))
}

// madeOfCommonWords says whether the letters are common words in a row and
// nothing else.
func madeOfCommonWords(letters string) bool {
	const longest = 12
	if letters == "" {
		return false
	}
	reachable := make([]bool, len(letters)+1)
	reachable[0] = true
	for end := 1; end <= len(letters); end++ {
		for start := max(0, end-longest); start < end; start++ {
			if reachable[start] && commonWords[letters[start:end]] {
				reachable[end] = true
				break
			}
		}
	}
	return reachable[len(letters)]
}

// repeats says whether a piece of at most four characters makes the whole, the
// last time perhaps cut.
func repeats(runes []rune) bool {
	for period := 1; period <= 4; period++ {
		same := true
		for i := period; i < len(runes) && same; i++ {
			same = runes[i] == runes[i-period]
		}
		if same {
			return true
		}
	}
	return false
}

// walks are rows of neighbours, of the alphabet, the digits and keyboards,
// long enough to go round once.
var walks = []string{
	"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "01234567890123456789", "12345678900987654321",
	"qwertyuiopasdfghjklzxcvbnm", "qwertyuiop[]asdfghjkl;'zxcvbnm,./", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn",
	"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", "1q2w3e4r5t6y7u8i9o0p", "!@#$%^&*()_+", "qazwsxedcrfvtgbyhnujmikolp",
	"a1b2c3d4e5f6g7h8i9", "q1w2e3r4t5y6u7i8o9p0", "1a2b3c4d5e6f7g8h9i",
}

// mostlyWalk says whether pieces of four and more characters of such rows,
// forwards or backwards, make up all but three characters.
func mostlyWalk(s string) bool {
	left := 0
	for rest := s; rest != ""; {
		n := walkLength(rest)
		if n < 4 {
			_, n = utf8.DecodeRuneInString(rest)
			left++
		}
		rest = rest[n:]
	}
	return left <= 3
}

// walkLength is how many bytes at the start of s are a piece of a walk.
func walkLength(s string) int {
	longest := 0
	for _, walk := range walks {
		for _, row := range []string{walk, reversed(walk)} {
			for n := longest + 1; n <= len(s) && strings.Contains(row, s[:n]); n++ {
				longest = n
			}
		}
	}
	return longest
}

func reversed(s string) string {
	out := []byte(s)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// fromAddress says whether little is left of the password without the parts of
// the address.
func fromAddress(plain, email string) bool {
	local, domain, _ := strings.Cut(strings.ToLower(strings.TrimSpace(email)), "@")
	rest := plain
	for _, part := range []string{strings.ToLower(email), local, domain, strings.SplitN(domain, ".", 2)[0]} {
		if utf8.RuneCountInString(part) >= 3 {
			rest = strings.ReplaceAll(rest, part, "")
		}
	}
	return rest != plain && utf8.RuneCountInString(rest) < 8
}
