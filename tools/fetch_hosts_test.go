package tools

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// named is a resolver that answers from a function instead of the network.
func named(t *testing.T, answer func(name string) []string) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveNames(server, answer)
		return client, nil
	}}
}

// serveNames speaks DNS over a stream (RFC 1035, 4.2.2) until it is closed.
func serveNames(conn net.Conn, answer func(name string) []string) {
	defer func() { _ = conn.Close() }()
	for {
		size := make([]byte, 2)
		if _, err := io.ReadFull(conn, size); err != nil {
			return
		}
		raw := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(conn, raw); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(raw) != nil || len(m.Questions) != 1 {
			return
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		for _, text := range answer(strings.TrimSuffix(q.Name.String(), ".")) {
			ip := netip.MustParseAddr(text)
			head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			switch {
			case ip.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
			case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
			}
		}
		out, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)); err != nil {
			return
		}
	}
}

func hostsOf(t *testing.T, allow, deny []string) *hosts {
	t.Helper()
	h, err := newHosts(allow, deny)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHostileAddresses is about what an attacker can write into a URL. None of
// it needs a resolver to be refused, so none of it may reach one.
func TestHostileAddresses(t *testing.T) {
	const notPublic, noHost = "not an address of the public internet", "neither a name nor a plainly written IP"
	tests := []struct{ name, url, want string }{
		{"loopback", "http://127.0.0.1/", notPublic},
		{"loopback, further on", "http://127.8.9.1/", notPublic},
		{"private", "http://10.0.0.1/", notPublic},
		{"private, 172", "http://172.31.255.255/", notPublic},
		{"private, 192", "http://192.168.1.1/", notPublic},
		{"carrier's", "http://100.64.0.1/", notPublic},
		{"this network", "http://0.0.0.0/", notPublic},
		{"broadcast", "http://255.255.255.255/", notPublic},
		{"multicast", "http://224.0.0.1/", notPublic},
		{"metadata", "http://169.254.169.254/latest/meta-data/", notPublic},
		{"metadata of Alibaba", "http://100.100.100.200/", notPublic},
		{"metadata of Azure", "http://168.63.129.16/", notPublic},
		{"metadata over IPv6", "http://[fd00:ec2::254]/", notPublic},
		{"IPv6 loopback", "http://[::1]/", notPublic},
		{"IPv6 unspecified", "http://[::]/", notPublic},
		{"IPv6 link-local", "http://[fe80::1]/", notPublic},
		{"IPv6 link-local with a zone", "http://[fe80::1%25lo]/", notPublic},
		{"IPv6 unique local", "http://[fc00::1]/", notPublic},
		{"IPv4-mapped", "http://[::ffff:127.0.0.1]/", notPublic},
		{"IPv4-mapped, in hex", "http://[::ffff:7f00:1]/", notPublic},
		{"IPv4-compatible", "http://[::127.0.0.1]/", notPublic},
		{"NAT64", "http://[64:ff9b::7f00:1]/", notPublic},
		{"6to4", "http://[2002:7f00:1::]/", notPublic},
		{"Teredo", "http://[2001:0:7f00:1::]/", notPublic},
		{"decimal", "http://2130706433/", noHost},
		{"hex", "http://0x7f000001/", noHost},
		{"hex in parts", "http://0x7f.0x0.0x0.0x1/", noHost},
		{"octal", "http://0177.0.0.01/", noHost},
		{"octal, as a number", "http://017700000001/", noHost},
		{"short", "http://127.1/", noHost},
		{"octal that is none", "http://127.0.0.08/", noHost},
		{"five parts", "http://127.0.0.0.1/", noHost},
		{"full-width digits", "http://１２７.０.０.１/", notPublic},
		{"ideographic full stops", "http://127。0。0。1/", notPublic},
		{"final dot", "http://127.0.0.1./", notPublic},
		{"user name", "http://example.com@127.0.0.1/", "user name"},
		{"backslash", `http://example.com\@127.0.0.1/`, "no address"},
		{"port of SSH", "http://8.8.8.8:22/", "port 22 is not fetched"},
		{"port of Redis", "http://8.8.8.8:6379/", "port 6379 is not fetched"},
		{"port 0", "http://8.8.8.8:0/", "is no port"},
		{"port too large", "http://8.8.8.8:65536/", "is no port"},
		{"file", "file:///etc/passwd", `only http and https`},
		{"gopher", "gopher://127.0.0.1:6379/_FLUSHALL", `only http and https`},
		{"data", "data:text/html,hello", `only http and https`},
		{"javascript", "javascript:alert(1)", `only http and https`},
		{"no host", "http:///etc/passwd", "no address"},
		{"control character", "http://example.com/\r\nX: y", "no address"},
	}
	resolver := named(t, func(name string) []string { t.Errorf("%s was looked up", name); return nil })
	f, err := newFetcher(Fetch{}, resolver)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runTool(t, f.tool(), map[string]any{"url": tt.url})
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
		})
	}
}

// TestHostileNames is about names, whose addresses an attacker chooses, and
// chooses anew for every question.
func TestHostileNames(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = io.WriteString(w, "the secret")
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	var asked atomic.Int32
	resolver := named(t, func(name string) []string {
		switch name {
		case "loop.attacker.example":
			return []string{"127.0.0.1"}
		case "loop6.attacker.example":
			return []string{"::1"}
		case "mapped.attacker.example":
			return []string{"::ffff:127.0.0.1"}
		case "mixed.attacker.example":
			return []string{"10.1.2.3", "127.0.0.1"}
		case "metadata.attacker.example", "wiki.corp.example":
			return []string{"169.254.169.254"}
		case "rebind.attacker.example":
			if asked.Add(1) == 1 {
				return []string{"192.0.2.1"}
			}
			return []string{"127.0.0.1"}
		case "intern.corp.example":
			return []string{"127.0.0.1"}
		}
		return nil
	})
	f, err := newFetcher(Fetch{Allow: []string{"*", "*.corp.example"}, Deny: []string{"secret.corp.example"}}, resolver)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, host, want string }{
		{"leads to loopback", "loop.attacker.example", "leads to 127.0.0.1, which is not"},
		{"leads to IPv6 loopback", "loop6.attacker.example", "leads to ::1, which is not"},
		{"leads to a mapped address", "mapped.attacker.example", "leads to 127.0.0.1, which is not"},
		{"several addresses", "mixed.attacker.example", "which is not"},
		{"leads to metadata", "metadata.attacker.example", "leads to 169.254.169.254, which is not"},
		{"an allowed name that leads to metadata", "wiki.corp.example", "leads to 169.254.169.254, which is not"},
		{"an allowed name that is denied", "secret.corp.example", "may not be fetched"},
		{"nobody", "nobody.example", "no host of that name"},
		{"rebinding, first", "rebind.attacker.example", "which is not"},
		{"rebinding, then", "rebind.attacker.example", "which is not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runTool(t, f.tool(), map[string]any{"url": "http://" + tt.host + "/"})
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
			got = runTool(t, f.tool(), map[string]any{"url": "http://" + net.JoinHostPort(tt.host, port) + "/"})
			if !got.Failed {
				t.Errorf("not refused: %s", got.Text)
			}
		})
	}
	if hits.Load() != 0 {
		t.Errorf("the server was reached %d times", hits.Load())
	}
	if got := runTool(t, f.tool(), map[string]any{"url": "http://intern.corp.example:" + port + "/"}); got.Failed || !strings.Contains(got.Text, "the secret") {
		t.Errorf("a host allowed by name was refused: %s", got.Text)
	}
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
		if _, err := NewFetch(Fetch{Allow: []string{p}}); err == nil {
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
		u, err := parseURL(text)
		if err != nil {
			return
		}
		name, err := hostName(u.Hostname())
		if err != nil || h.url(u) != nil {
			return
		}
		var refused *refusal
		if err := h.dial(name, "127.0.0.1:80"); !errors.As(err, &refused) {
			t.Errorf("%q opens loopback", text)
		}
		if ip, err := netip.ParseAddr(name); err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
			t.Errorf("%q is let through early", text)
		}
	})
}
