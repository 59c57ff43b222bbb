package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Allow opens one more thing than public addresses on ports 80 and 443. It is
// a network, or a name.
//
// A name is allowed whatever it resolves to: whoever starts the program vouches
// for the name, and inside a company the addresses behind a name change without
// notice. So name only hosts whose DNS is in trusted hands.
type Allow struct {
	network netip.Prefix // set for a network or a single address
	name    string       // set for a name: lower case, without a final dot
	port    uint16       // 0: every port
}

// String is the entry as ParseAllow reads it.
func (a Allow) String() string {
	host := a.name
	if a.network.IsValid() {
		host = a.network.String()
		if a.network.IsSingleIP() {
			host = a.network.Addr().String()
		}
	}
	if a.port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(a.port)))
}

// ParseAllow reads a list separated by commas: networks (10.0.0.0/8), addresses
// and names, the latter two with a port or without. Without a port every port
// is open; a network cannot have one.
func ParseAllow(list string) ([]Allow, error) {
	var allowed []Allow
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		a, err := parseEntry(entry)
		if err != nil {
			return nil, err
		}
		allowed = append(allowed, a)
	}
	return allowed, nil
}

func parseEntry(entry string) (Allow, error) {
	wrong := func(expected string) error {
		return fmt.Errorf("%q: %s expected, such as 10.0.0.0/8, pipeline.internal or 127.0.0.1:9000", entry, expected)
	}
	if strings.Contains(entry, "/") {
		network, err := netip.ParsePrefix(entry)
		if err != nil {
			return Allow{}, wrong("a network without a port")
		}
		if network.Masked() != network {
			return Allow{}, wrong("a network whose host bits are zero (" + network.Masked().String() + ")")
		}
		if network.Addr().Is4In6() {
			return Allow{}, wrong("an IPv4 network in its own notation")
		}
		return Allow{network: network}, nil
	}
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return Allow{network: single(ip)}, nil
	}

	host, portText, port := entry, "", uint64(0)
	if strings.Contains(entry, ":") {
		var err error
		host, portText, err = net.SplitHostPort(entry)
		if err != nil {
			return Allow{}, wrong("a host and a port")
		}
		port, err = strconv.ParseUint(portText, 10, 16)
		if err != nil || port == 0 {
			return Allow{}, wrong("a port from 1 to 65535")
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Allow{network: single(ip), port: uint16(port)}, nil
	}
	name := normalName(host)
	if !isName(name) || endsInNumber(name) {
		return Allow{}, wrong("a network, an address or a name")
	}
	return Allow{name: name, port: uint16(port)}, nil
}

// single is the network of one address; a zone says which cable, not who is at
// the end of it.
func single(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	return netip.PrefixFrom(ip, ip.BitLen())
}

func (a Allow) opens(host string, ip netip.Addr, port uint16) bool {
	if a.port != 0 && a.port != port {
		return false
	}
	if a.name != "" {
		return a.name == host
	}
	return a.network.Contains(ip)
}

// opensName says whether the entry could open the host before it is resolved.
func (a Allow) opensName(host string, port uint16) bool {
	return a.name == host && (a.port == 0 || a.port == port)
}

func normalName(host string) string {
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// endsInNumber says whether a resolver might take the name for an IPv4 address
// in an old notation: 127.1, 2130706433, 0x7f.1. No real name ends so.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
