package tooltest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/tools"
)

// HostileServers tries servers that never come to an end, or say too much, with a
// tool that asks one: with the tool for an address, which waits for limit. Words
// are what the model should be told in each case, where that is not usual.
func HostileServers(t *testing.T, tool func(url string, limit time.Duration) tools.Tool, words map[string]string) {
	t.Helper()
	drip := func(first string) http.HandlerFunc { // a byte now and then, for ever
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, first)
			for tick := time.NewTicker(5 * time.Millisecond); ; {
				_, _ = io.WriteString(w, " ")
				if http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-tick.C:
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	var bomb bytes.Buffer // 24 MB in 24 KB
	z := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(z, `{"query":"`)
	for range 24 {
		_, _ = z.Write(bytes.Repeat([]byte("a"), 1<<20))
	}
	_ = z.Close()
	packed := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "{this is no gzip}")
	}
	alien := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x0b\x02\x80\x00\x01\x02\x03")
	}
	tests := []struct {
		name   string
		server http.HandlerFunc
		limit  time.Duration
		want   string
	}{
		{"drips", drip(""), 200 * time.Millisecond, "does not answer in time"},
		{"drips an answer", drip(`{"data":[`), 200 * time.Millisecond, "does not answer in time"},
		{"packs much into little", packed, time.Minute, "too long"},
		{"packs nothing", broken, time.Minute, "cannot be reached"},
		{"packs in a way that nobody asked for", alien, time.Minute, "makes no sense"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := Handle(t, tt.server)
			want := cmp.Or(words[tt.name], tt.want)
			args := fmt.Appendf(nil, `{"url":%q,"query":"x","entity":"x","prompt":"x"}`, url)
			got, _ := tool(url, tt.limit).Run(t.Context(), tools.Input{Desk: chat.Desk{Key: "k"}, Args: args})
			if !strings.Contains(got.Text, want) {
				t.Errorf("%.500s\nwant %s", got.Text, want)
			}
		})
	}
}
