package fakeslack

import (
	"testing"

	"github.com/gorilla/websocket"
)

var dialer = websocket.DefaultDialer

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ws, _, err := dialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}
