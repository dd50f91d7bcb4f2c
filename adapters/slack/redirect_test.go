package slack

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"nod/adapters/slack/api"
)

// The token does not follow a file to another port, where net/http would take it.
func TestFileElsewhere(t *testing.T) {
	seen := ""
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") }))
	defer elsewhere.Close()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer own.Close()
	w := &api.Client{Options: api.Options{Address: own.URL + "/api/", Token: "xoxb-1", HTTP: own.Client()}}
	if _, err := w.Download(t.Context(), own.URL+"/file", "text/plain", 1000); err == nil || seen != "" {
		t.Errorf("%v; it was sent %q", err, seen)
	}
}
