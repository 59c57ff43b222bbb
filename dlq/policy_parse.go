package dlq

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
)

// policyForm says how the value of a field of a policy is written.
type policyForm int

const (
	formObject  policyForm = iota
	formText               // a string
	formNumber             // a number
	formWhole              // a whole number
	formSpan               // 90d, 24h, 30s
	formSize               // 50GiB, or a number of bytes
	formStrings            // an object of strings
)

// policyFields are the fields of a source's policy, by JSON pointer. One that is
// not here is a fault, so that a misspelt setting is not silently the default.
var policyFields = map[string]policyForm{
	"/name": formText, "/owner": formText, "/runbook": formText, "/poison_threshold": formWhole, "/confidence_floor": formNumber,
	"/redrive": formObject, "/redrive/url": formText, "/redrive/secret": formText, "/redrive/secret_overlap": formSpan, "/redrive/mode": formText, "/redrive/rate": formNumber, "/redrive/concurrency": formWhole,
	"/redrive/retry": formObject, "/redrive/retry/budget": formSpan, "/redrive/retry/first": formSpan, "/redrive/retry/max": formSpan,
	"/probe": formObject, "/probe/url": formText, "/probe/kind": formText, "/probe/etag_from": formText, "/probe/fetch": formText, "/probe/headers": formStrings,
	"/outcomes": formObject, "/outcomes/mode": formText, "/outcomes/timeout": formSpan, "/outcomes/canary_timeout": formSpan, "/outcomes/check_url": formText, "/outcomes/check_from": formText, "/outcomes/check_seq_from": formText, "/outcomes/check_headers": formStrings,
	"/retention": formObject, "/retention/entry_ttl": formSpan, "/retention/max_ttl": formSpan, "/retention/payload_ttl": formSpan, "/retention/record_ttl": formSpan,
	"/limits": formObject, "/limits/depth": formWhole, "/limits/age": formSpan, "/limits/quota_bytes": formSize,
	"/alerts": formObject, "/alerts/url": formText, "/alerts/secret": formText,
}

// ParsePolicy reads a policy from JSON, over the defaults. The error names every
// fault, by field. An empty name takes the one that the body gives.
func ParsePolicy(name string, body []byte) (SourcePolicy, error) {
	fields, err := DecodeObject(body)
	if err != nil {
		return SourcePolicy{}, err
	}
	faults := prunePolicy("", fields)
	// What is left is well formed, so the other fields are judged beside it.
	kept, err := json.Marshal(fields)
	if err != nil {
		return SourcePolicy{}, fmt.Errorf("write a policy: %w", err)
	}
	p := DefaultPolicy(name)
	if err := json.Unmarshal(kept, &p); err != nil {
		return SourcePolicy{}, fmt.Errorf("read a policy: %w", err)
	}
	if name != "" && p.Name != name {
		faults = append(faults, Fault{"/name", fmt.Sprintf("the address says %q, and the body %q", shorten(name, 40), shorten(p.Name, 40))})
	}
	faults = append(faults, p.Validate()...)
	if len(faults) > 0 {
		sort.SliceStable(faults, func(i, j int) bool { return faults[i].Pointer < faults[j].Pointer })
		return SourcePolicy{}, Invalid("the source's policy was not understood", faults...)
	}
	return p, nil
}

// prunePolicy takes out of an object what is no field or not of its form, and
// answers the faults. Null is as absent.
func prunePolicy(at string, object map[string]any) []Fault {
	var faults []Fault
	for name, value := range object {
		pointer := at + "/" + name
		form, known := policyFields[pointer]
		switch {
		case !known:
			faults = append(faults, Fault{pointer, "no such field"})
		case value == nil:
		case form == formObject:
			inner, ok := value.(map[string]any)
			if ok {
				faults = append(faults, prunePolicy(pointer, inner)...)
				continue
			}
			faults = append(faults, Fault{pointer, "an object expected, got " + jsonType(value)})
		default:
			expected := form.fault(value)
			if expected == "" {
				continue
			}
			faults = append(faults, Fault{pointer, expected})
		}
		delete(object, name)
	}
	return faults
}

// fault says what was expected, or nothing where a value has the form.
func (f policyForm) fault(value any) string {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch f {
	case formText:
		if !isText {
			return "a string expected, got " + jsonType(value)
		}
	case formNumber:
		if !isNumber {
			return "a number expected, got " + jsonType(value)
		}
		if _, err := strconv.ParseFloat(number.String(), 64); err != nil {
			return "a number expected, got one that is out of range"
		}
	case formWhole:
		if !isNumber {
			return "a whole number expected, got " + jsonType(value)
		}
		if _, err := strconv.ParseInt(number.String(), 10, 32); err != nil {
			return "a whole number expected, got " + shorten(number.String(), 40)
		}
	case formSpan:
		if !isText {
			return "a span such as 90d, 24h or 30s expected, got " + jsonType(value)
		}
		if _, err := ParseDuration(text); err != nil {
			return err.Error()
		}
	case formSize:
		if !isText && !isNumber {
			return "a size such as 50GiB expected, got " + jsonType(value)
		}
		var size Bytes
		if err := size.UnmarshalText([]byte(text + number.String())); err != nil {
			return err.Error()
		}
	case formStrings:
		object, ok := value.(map[string]any)
		if !ok {
			return "an object of strings expected, got " + jsonType(value)
		}
		for _, v := range object {
			if _, ok := v.(string); !ok {
				return "an object of strings expected, with " + jsonType(v) + " in it"
			}
		}
	}
	return ""
}
