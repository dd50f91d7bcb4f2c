package door

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/internal/doortest"
)

// doorway is a door with a room behind it, and what was printed.
func doorway() (d *Door, room http.Handler, printed *[]string) {
	printed = &[]string{}
	d = New(Options{Address: "127.0.0.1:8484", Print: func(line string) { *printed = append(*printed, line) }, Access: &Access{Notes: &doortest.Notes{}, Now: time.Now}})
	d.Announce(context.Background())
	return d, d.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })), printed
}

func TestLinkWorksOnce(t *testing.T) {
	_, room, printed := doorway()
	first := (*printed)[0]
	if !strings.HasPrefix(first, "page: http://127.0.0.1:8484/?key=") {
		t.Fatalf("printed %q", first)
	}
	in := doortest.Enter(t, room, *printed)
	if len(*printed) != 2 || (*printed)[1] == first {
		t.Errorf("after the link was used: %q", *printed)
	}
	_, target, _ := strings.Cut(first, ":8484")
	if w := doortest.Ask(room, "GET", target, nil); w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
		t.Errorf("the link again: status %d", w.Code)
	}
	if w := doortest.Ask(room, "GET", target, in); w.Code != http.StatusSeeOther {
		t.Errorf("the link again, by who is in already: status %d", w.Code)
	}
	c := in[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Name != "nod-8484" || c.MaxAge != 30*24*3600 {
		t.Errorf("the cookie: %+v", c)
	}
	doortest.Enter(t, room, *printed)
	if w := doortest.Ask(room, "GET", "/", in); w.Code != http.StatusTeapot {
		t.Errorf("the first browser, once a second is in: status %d", w.Code)
	}
}

func TestWhoComesIn(t *testing.T) {
	_, room, printed := doorway()
	in := doortest.Enter(t, room, *printed)
	own := "http://127.0.0.1:8484"
	for _, tt := range []struct {
		name, method, target string
		cookies              []*http.Cookie
		header               []string
		want                 int
	}{
		{"a page", "GET", "/", in, nil, 418},
		{"without the cookie", "GET", "/", nil, nil, 403},
		{"with another cookie", "GET", "/", []*http.Cookie{{Name: "nod-8484", Value: "x"}}, nil, 403},
		{"with no key", "GET", "/?key=", nil, nil, 403},
		{"by localhost", "GET", "/", in, []string{"Host", "localhost:8484"}, 418},
		{"by a foreign name", "GET", "/", in, []string{"Host", "evil.example:8484"}, 403},
		{"by a foreign name with the key", "GET", strings.TrimPrefix((*printed)[1], "page: "+own), nil, []string{"Host", "evil.example:8484"}, 403},
		{"by another port", "GET", "/", in, []string{"Host", "127.0.0.1:80"}, 403},
		{"by no name", "GET", "/", in, []string{"Host", ""}, 403},
		{"a form", "POST", "/say", in, []string{"Origin", own}, 418},
		{"a form, as browsers send it", "POST", "/say", in, []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 418},
		{"a form of nobody", "POST", "/say", in, nil, 403},
		{"a form of a foreign page", "POST", "/say", in, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a form of another port", "POST", "/say", in, []string{"Origin", "http://127.0.0.1:9000", "Sec-Fetch-Site", "same-site"}, 403},
		{"a form of a sandboxed page", "POST", "/say", in, []string{"Origin", "null"}, 403},
		{"a form of a foreign name that leads here", "POST", "/say", in, []string{"Host", "evil.example:8484", "Origin", "http://evil.example:8484"}, 403},
		{"a form with another site's word", "POST", "/say", in, []string{"Origin", own, "Sec-Fetch-Site", "cross-site"}, 403},
		{"a picture for a foreign page", "GET", "/file", in, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"events for a foreign page", "GET", "/events", in, []string{"Origin", "https://evil.example"}, 403},
		{"events for another port", "GET", "/events", in, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		{"a frame of a foreign page", "GET", "/", in, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"a link on a foreign page", "GET", "/", in, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 418},
		{"any other method", "PUT", "/say", in, nil, 403},
	} {
		w := doortest.Ask(room, tt.method, tt.target, tt.cookies, tt.header...)
		if w.Code != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, w.Code, tt.want)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", tt.name, w.Header())
		}
	}
}

// Only so many browsers are known at a time, so that nothing grows without end.
func TestFirstIsForgotten(t *testing.T) {
	_, room, printed := doorway()
	in := doortest.Enter(t, room, *printed)
	var later []*http.Cookie
	for range mostKnown {
		later = doortest.Enter(t, room, *printed)
	}
	if w := doortest.Ask(room, "GET", "/", in); w.Code != http.StatusForbidden {
		t.Errorf("the first browser: status %d", w.Code)
	}
	if w := doortest.Ask(room, "GET", "/", later); w.Code != http.StatusTeapot {
		t.Errorf("the last browser: status %d", w.Code)
	}
}

func TestLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:8484": true, "127.9.9.9:1": true, "[::1]:0": true, "localhost:8484": true,
		"0.0.0.0:8484": false, ":8484": false, "192.168.1.2:80": false, "example.org:80": false, "[::]:1": false, "8484": false, "": false, "127.0.0.1": false,
		"127.0.0.1:99999": false, "127.0.0.1:abc": false, "127.0.0.1:": false, "127.0.0.1:-1": false,
	} {
		if err := Loopback(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if !slices.Contains(New(Options{Address: "[::1]:8484"}).hosts, "[::1]:8484") {
		t.Error("the page of [::1] is not found by its name")
	}
}
