// Package doortest is a browser at the door of a page, for the tests of pages. The
// page's address is 127.0.0.1:8484.
package doortest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Ask sends a request as a browser would that was let in with the cookies.
func Ask(room http.Handler, method, target string, cookies []*http.Cookie, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://127.0.0.1:8484"+target, nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	room.ServeHTTP(w, r)
	return w
}

// Enter opens the page by the newest link.
func Enter(t testing.TB, room http.Handler, printed []string) []*http.Cookie {
	t.Helper()
	_, target, _ := strings.Cut(printed[len(printed)-1], "127.0.0.1:8484")
	w := Ask(room, "GET", target, nil)
	if w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 {
		t.Fatalf("the link: status %d, %q", w.Code, w.Body)
	}
	return w.Result().Cookies()
}

// Notes is a note that ends with the process.
type Notes struct {
	mu    sync.Mutex
	value []byte
}

// Noted gives it.
func (k *Notes) Noted(context.Context, string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, nil
}

// Swap replaces it.
func (k *Notes) Swap(_ context.Context, _ string, old, value []byte) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !bytes.Equal(k.value, old) {
		return bytes.Equal(k.value, value), nil
	}
	k.value = value
	return true, nil
}
