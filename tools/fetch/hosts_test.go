package fetch

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"nod/internal/tooltest"
)

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
	resolver := tooltest.Resolver(t, func(name string) []string { t.Errorf("%s was looked up", name); return nil })
	f, err := newFetcher(Keys{}, resolver)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tooltest.Run(t, f.tool(), map[string]any{"url": tt.url})
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
	resolver := tooltest.Resolver(t, func(name string) []string {
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
	f, err := newFetcher(Keys{Allow: []string{"*", "*.corp.example"}, Deny: []string{"secret.corp.example"}}, resolver)
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
			got := tooltest.Run(t, f.tool(), map[string]any{"url": "http://" + tt.host + "/"})
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
			got = tooltest.Run(t, f.tool(), map[string]any{"url": "http://" + net.JoinHostPort(tt.host, port) + "/"})
			if !got.Failed {
				t.Errorf("not refused: %s", got.Text)
			}
		})
	}
	if hits.Load() != 0 {
		t.Errorf("the server was reached %d times", hits.Load())
	}
	if got := tooltest.Run(t, f.tool(), map[string]any{"url": "http://intern.corp.example:" + port + "/"}); got.Failed || !strings.Contains(got.Text, "the secret") {
		t.Errorf("a host allowed by name was refused: %s", got.Text)
	}
}

// Before the first page: the proxy is there, or the hosts that are named in full are found.
func TestTry(t *testing.T) {
	resolver := tooltest.Resolver(t, func(name string) []string {
		if name == "there.example" {
			return []string{"192.0.2.1"}
		}
		return nil
	})
	for _, tt := range []struct {
		allow       []string
		proxy, want string
	}{
		{[]string{"there.example", "*.example", "10.0.0.0/8", "127.0.0.1"}, "", ""},
		{[]string{"there.example", "gone.example"}, "", "find gone.example"},
		{[]string{"gone.example"}, "http://" + tooltest.Listen(t, "x"), ""},
		{nil, "http://127.0.0.1:1", "the proxy can't be reached"},
	} {
		var proxy *url.URL
		if tt.proxy != "" {
			proxy, _ = url.Parse(tt.proxy)
		}
		if err := (Keys{Allow: tt.allow}).try(t.Context(), proxy, resolver); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.allow, err, tt.want)
		}
	}
}
