package web

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nod/chat"
)

// A browser that was away is sent what it has not seen, and one of another
// process is told to begin anew.
func TestStream(t *testing.T) {
	r := openRoom(t)
	srv := httptest.NewServer(http.HandlerFunc(r.a.events)) // the door is another test's
	t.Cleanup(srv.Close)                                    // after the streams
	thread := threadID("lobby", "message0")
	post := func(key, text string) {
		_, _ = r.a.Post(t.Context(), thread, chat.Post{Key: key, Text: &chat.Text{Markdown: text}}, false)
	}
	post("one", "first")
	since := r.a.board.mark(r.a.board.changed)
	post("two", "second")

	lines := listen(t, srv.URL+"/?c=lobby&t=message0&since="+since)
	got := lines("event: seen")
	if strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Errorf("sent %s", got)
	}
	post("three", "third")
	r.a.Working(thread, chat.Work{What: "Thinking"})
	if got := lines("event: working"); !strings.Contains(got, "third") || strings.Contains(got, "second") {
		t.Errorf("sent %s", got)
	}
	stale := listen(t, srv.URL+"/?since=other.1")
	stale("event: stale")
}

// listen gives what a stream sends, up to a line.
func listen(t *testing.T, url string) (until func(line string) string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	scan := bufio.NewScanner(resp.Body)
	return func(line string) string {
		var got strings.Builder
		for scan.Scan() {
			got.WriteString(scan.Text() + "\n")
			if scan.Text() == line {
				return got.String()
			}
		}
		t.Fatalf("never %q: %v\n%s", line, scan.Err(), got.String())
		return ""
	}
}
