package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"testing"

	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// tells gives a command to the service, as another process does, and gives its output.
func (n *service) tells(words ...string) string {
	n.t.Helper()
	cmd, out := n.command(words[0])
	cmd.Args = append(append([]string{"bot"}, words...), "--config", n.file)
	if err := cmd.Run(); err != nil {
		n.t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return out.String()
}

// reads asks for a view of the operator's page and wants a status.
func (n *service) reads(c *http.Client, url string, want int) {
	n.t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		n.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		n.t.Errorf("%s: status %d, want %d", url, resp.StatusCode, want)
	}
}

func newBrowserless(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// Access to the operator's page outlives the process, kill included, on both stores; a
// command makes a further link while the service runs, and another ends all access.
func TestAccessSurvivesARestart(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"", "redis"} {
		t.Run("store "+store, func(t *testing.T) {
			t.Parallel()
			s := setup{}
			if store != "" {
				s.store = redistest.Start(t).URL()
			}
			addr := freeAddr(t)
			n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, s)
			n.file = n.rewrite("page.yaml", "listen:", fmt.Sprintf("page: %q, listen:", addr))
			first := n.spawn()
			n.ready()
			link := (&office{t: t, out: first.out}).link()
			c := newBrowserless(t)
			n.reads(c, link, http.StatusOK)
			first.kill()
			second := n.spawn()
			defer second.kill()
			n.ready()
			n.reads(c, "http://"+addr+"/waiting", http.StatusOK)
			info, err := os.Stat(n.file + ".sock")
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v, %v", info, err)
			}

			other := newBrowserless(t)
			n.reads(other, link, http.StatusForbidden)
			said := pageLink.FindStringSubmatch(n.tells("page", "link"))
			if said == nil || !strings.Contains(said[1], addr) {
				t.Fatalf("bot page link said %q", said)
			}
			n.reads(other, said[1], http.StatusOK)
			n.reads(other, "http://"+addr+"/health", http.StatusOK)
			if said := n.tells("page", "revoke"); said != "ended the access of 2 browsers, and all links\n" {
				t.Errorf("bot page revoke said %q", said)
			}
			for _, c := range []*http.Client{c, other} {
				n.reads(c, "http://"+addr+"/health", http.StatusForbidden)
			}
		})
	}
}
