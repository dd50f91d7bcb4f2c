package setting

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"512MiB": 512 << 20, "1GiB": 1 << 30, "2 KiB": 2048, "5MB": 5_000_000, "10B": 10,
		"512": 0, "1.5GiB": 0, "-1MiB": 0, "MiB": 0, "99999999TiB": 0, "0MiB": 0, "5Mib": 0,
	} {
		var got Size
		if problem := got.SetText(text); (problem == "") != (want != 0) || got != want {
			t.Errorf("%s: got %d, %q; want %d", text, got, problem, want)
		}
	}
	for size, want := range map[Size]string{512 << 20: "512MiB", 1 << 30: "1GiB", 3: "3B", 0: "0B", 1536: "1536B"} {
		if got := size.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(size), got, want)
		}
	}
}
