package web

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"nod/tools"
)

func hostsOf(t *testing.T, allow, deny []string) *hosts {
	t.Helper()
	h, err := newHosts(allow, deny)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHostRules(t *testing.T) {
	tests := []struct {
		name        string
		allow, deny []string
		host, dials string
		want        string // "" is opened
	}{
		{"public", nil, nil, "example.com", "93.184.215.14:443", ""},
		{"public, another port", nil, nil, "example.com", "93.184.215.14:8443", ""},
		{"public over IPv6", nil, nil, "example.com", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", ""},
		{"public, a port of mail", nil, nil, "example.com", "93.184.215.14:25", "port 25"},
		{"denied", nil, []string{"example.com"}, "example.com", "93.184.215.14:443", "may not"},
		{"denied in any case, with a dot", nil, []string{"Example.COM"}, "EXAMPLE.com.", "93.184.215.14:443", "may not"},
		{"denied by pattern", nil, []string{"*.example.com"}, "a.b.example.com", "93.184.215.14:443", "may not"},
		{"a pattern is of the whole name", nil, []string{"*.example.com"}, "example.com.evil.org", "93.184.215.14:443", ""},
		{"denied by range", nil, []string{"93.184.0.0/16"}, "example.com", "93.184.215.14:443", "may not"},
		{"denied by address", nil, []string{"93.184.215.14"}, "example.com", "93.184.215.14:443", "may not"},
		{"deny wins", []string{"example.com"}, []string{"example.com"}, "example.com", "93.184.215.14:443", "may not"},
		{"only the allowed", []string{"example.org"}, nil, "example.com", "93.184.215.14:443", "not among"},
		{"an allowed one", []string{"example.org", "*.example.com"}, nil, "www.example.com", "93.184.215.14:443", ""},
		{"private by name", []string{"wiki"}, nil, "wiki", "10.0.0.7:8000", ""},
		{"private by domain", []string{"*.corp.example"}, nil, "wiki.corp.example", "[fd12::1]:8000", ""},
		{"private by address", []string{"10.0.0.7"}, nil, "10.0.0.7", "10.0.0.7:8000", ""},
		{"private by IPv6 address", []string{"[::1]"}, nil, "::1", "[::1]:8000", ""},
		{"private by range", []string{"10.0.0.0/8"}, nil, "wiki", "10.0.0.7:8000", ""},
		{"link-local by address", []string{"169.254.169.254"}, nil, "169.254.169.254", "169.254.169.254:80", ""},
		{"link-local by name", []string{"wiki"}, nil, "wiki", "169.254.169.254:80", "not an address of the public"},
		{"metadata within unique local, by name", []string{"wiki"}, nil, "wiki", "[fd00:ec2::254]:80", "not an address of the public"},
		{"an allowed address is no name", []string{"*", "127.0.0.1"}, nil, "evil.org", "127.0.0.1:80", "not an address of the public"},
		{"any is no name", []string{"*"}, nil, "wiki", "10.0.0.7:80", "not an address of the public"},
		{"a top-level domain is no name", []string{"*.com"}, nil, "wiki.com", "10.0.0.7:80", "not an address of the public"},
		{"numbers of an address are no name", []string{"*", "192.168.1.*"}, nil, "192.168.1.evil.org", "127.0.0.1:80", "not an address of the public"},
		{"numbers of an address", []string{"192.168.1.*"}, nil, "192.168.1.7", "192.168.1.7:8000", ""},
		{"what a name begins with is no name", []string{"*", "wiki.corp.*"}, nil, "wiki.corp.evil.org", "127.0.0.1:80", "not an address of the public"},
		{"a part in the middle", []string{"wiki.*.corp.example"}, nil, "wiki.eu.corp.example", "10.0.0.7:8000", ""},
		{"everything is no range", []string{"0.0.0.0/0"}, nil, "wiki", "10.0.0.7:80", "not an address of the public"},
		{"mapped addresses are themselves", []string{"127.0.0.1"}, nil, "::ffff:127.0.0.1", "[::ffff:127.0.0.1]:80", ""},
		{"an allowed domain in Unicode", []string{"bücher.example"}, nil, "xn--bcher-kva.example", "93.184.215.14:443", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := hostsOf(t, tt.allow, tt.deny)
			err := h.dial(tt.host, tt.dials)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("dial: %v, want %q", err, tt.want)
			}
			early := h.url(&url.URL{Scheme: "http", Host: hostOf(tt.host)})
			if early != nil && err == nil {
				t.Errorf("what may be dialled is refused early: %v", early)
			}
		})
	}
}

// hostOf writes a host as it stands in a URL.
func hostOf(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

func TestHostPatternsRefused(t *testing.T) {
	for _, p := range []string{"", "http://example.com", "example.com/a", "a b", "u@h"} {
		if _, err := NewClient([]string{p}, nil, net.DefaultResolver); err == nil {
			t.Errorf("%q was taken", p)
		}
	}
}

func FuzzHosts(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1/", "http://[::ffff:7f00:1]", "http://0x7f.1", "http://１２７.0.0.1"} {
		f.Add(s)
	}
	h, err := newHosts(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		name, err := hostName(u.Hostname())
		if err != nil || h.url(u) != nil {
			return
		}
		var refused *tools.Refusal
		if err := h.dial(name, "127.0.0.1:80"); !errors.As(err, &refused) {
			t.Errorf("%q opens loopback", text)
		}
		if ip, err := netip.ParseAddr(name); err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
			t.Errorf("%q is let through early", text)
		}
	})
}
