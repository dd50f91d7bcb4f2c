package slack

import (
	"net/http"
	"net/http/httptest"
	"testing"
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
	w := &web{base: own.URL + "/api/", token: "xoxb-1", http: own.Client()}
	if _, err := w.download(t.Context(), own.URL+"/file", "text/plain", 1000); err == nil || seen != "" {
		t.Errorf("%v; it was sent %q", err, seen)
	}
}
