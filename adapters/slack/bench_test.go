package slack

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/front"
)

// BenchmarkAnswer draws answers of 20 bytes, 2 KB and 8 KB, in all forms.
func BenchmarkAnswer(b *testing.B) {
	const paragraph = "The disk of **db-3** is full: `/var/lib/postgresql` holds 412 GB of logs, since the replica *db-4* has not confirmed anything for two days.\n\n" +
		"- restart the replica's receiver\n- look at [the runbook](https://example.org/runbook)\n- or drop its slot\n\n```sh\npg_ctl restart\n```\n\n"
	for _, size := range []struct {
		name, markdown string
	}{{"20B", "The tool says: noon."}, {"2KB", strings.Repeat(paragraph, 7)}, {"8KB", strings.Repeat(paragraph, 29)}} {
		p := chat.Post{Key: "k", Text: &chat.Text{Markdown: size.markdown}}
		b.Run(size.name, func(b *testing.B) {
			for b.Loop() {
				partsOf(front.Message{Post: p}, everything)
			}
		})
	}
}
