package pipeline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Money is an amount in hundredths of its currency, so that sums are exact.
type Money int64

func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Sprintf("%s%d.%02d", sign, m/100, m%100)
}

// in writes the amount as people of the locale do: 1,234.56 or 1.234,56.
func (m Money) in(locale string) string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	group, point := ",", "."
	if decimalComma(locale) {
		group, point = ".", ","
	}
	whole := strconv.FormatInt(int64(m/100), 10)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + group + whole[i:]
	}
	return fmt.Sprintf("%s%s%s%02d", sign, whole, point, m%100)
}

// AmountError is an amount that cannot be read as money.
type AmountError struct {
	Text string // as it stands in the document
	Want string // what would have been read
}

func (e *AmountError) Error() string {
	return fmt.Sprintf("amount %q cannot be read: %s expected", e.Text, e.Want)
}

var (
	pointAmount = regexp.MustCompile(`^-?(\d+|\d{1,3}(,\d{3})+)(\.\d{1,2})?$`)
	commaAmount = regexp.MustCompile(`^-?(\d+|\d{1,3}(\.\d{3})+)(,\d{1,2})?$`)
)

// pointDecimals reads an amount with a decimal point, whatever the document
// says of its locale.
func pointDecimals(text, _ string) (Money, error) {
	if !pointAmount.MatchString(text) {
		return 0, &AmountError{Text: text, Want: "a number with a decimal point"}
	}
	return hundredths(strings.ReplaceAll(text, ",", ""))
}

// localeDecimals reads an amount in the notation of the document's locale, so
// that 1.234 is a thousand in one and little more than one in the other.
func localeDecimals(text, locale string) (Money, error) {
	if !decimalComma(locale) {
		return pointDecimals(text, locale)
	}
	if !commaAmount.MatchString(text) {
		return 0, &AmountError{Text: text, Want: "a number with a decimal comma"}
	}
	return hundredths(strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", "."))
}

func decimalComma(locale string) bool {
	switch language, _, _ := strings.Cut(locale, "-"); language {
	case "de", "fr", "es", "it", "nl", "pl", "pt":
		return true
	}
	return false
}

// hundredths reads digits with at most one point and two decimals.
func hundredths(text string) (Money, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil {
		return 0, &AmountError{Text: text, Want: "fewer digits"}
	}
	return Money(n), nil
}
