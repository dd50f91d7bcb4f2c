package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/chat"
	"nod/tools"
	"nod/tools/mcp/wire"
)

// Any result of a server takes at most a few times its own size, makes a limited number
// of files, and gives none a name that leads elsewhere.
func FuzzResult(f *testing.F) {
	for _, c := range odd {
		f.Add([]byte(`{"content":[` + c.item + `,` + c.item + `],"structuredContent":{"a":[1,"<b>"]}}`))
	}
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"file:///../../a%00b","mimeType":"x/y; a=b","blob":"aGk="}}],"isError":true}`))
	f.Add([]byte(`{"content":[` + strings.Repeat(`{"type":"image","mimeType":"image/png","data":"aGk="},`, 30) + `{"type":"text","text":"x"}]}`))
	o := offer{s: &server{Server: Server{Name: "web"}}, as: "web_tool"}
	in := tools.Input{Desk: chat.Desk{Files: []chat.File{{Name: "web_tool.png"}}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		message := wire.Tidy([]byte(`{"jsonrpc":"2.0","id":1,"result":` + string(raw) + `}`))
		var m struct{ Result json.RawMessage }
		var r sdk.CallToolResult
		if json.Unmarshal(message, &m) != nil || json.Unmarshal(m.Result, &r) != nil {
			return
		}
		out := result(o, in, &r, nil)
		size := len(out.Text)
		for _, file := range out.Files {
			size += len(file.Data) + len(file.Name)
			if strings.ContainsAny(file.Name, "/\\\x00\n") || strings.HasPrefix(file.Name, ".") || !utf8.ValidString(file.Name) {
				t.Errorf("a file is called %q", file.Name)
			}
		}
		if len(out.Files) > mostFiles || size > 8*len(raw)+4096 {
			t.Errorf("%d bytes became %d, in %d files", len(raw), size, len(out.Files))
		}
	})
}
