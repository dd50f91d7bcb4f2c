package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// A service on the web is asked through the proxy, and one of this machine is not.
func TestAPIThroughProxy(t *testing.T) {
	answer := func(from string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, "%q", from) }))
		t.Cleanup(s.Close)
		return s
	}
	proxy, err := url.Parse(answer("the proxy").URL)
	if err != nil {
		t.Fatal(err)
	}
	api := NewAPI("It", 100)
	api.Through(proxy)
	for target, want := range map[string]string{"http://search.example/": "the proxy", answer("this machine").URL: "this machine"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := api.Ask(req, &got); err != nil || got != want {
			t.Errorf("%s: %q answers, %v", target, got, err)
		}
	}
}
