package fakeslack

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkPost measures one post of the fake and a bare client together, so that a
// benchmark of a bot can subtract it.
func BenchmarkPost(b *testing.B) {
	s, err := New(Options{NoLimits: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := "token=" + s.BotToken() + "&channel=C0GENERAL&text=hello"
			res, err := client.Post(s.APIURL()+"chat.postMessage", "application/x-www-form-urlencoded", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
			_ = res.Body.Close()
		}
	})
}
