package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStore(t *testing.T) {
	for _, test := range []struct{ text, show string }{
		{"sqlite:nod.db", "sqlite:/etc/nod/nod.db"},
		{"sqlite:../var/nod.db", "sqlite:/etc/var/nod.db"},
		{"sqlite:/var/lib/nod.db", "sqlite:/var/lib/nod.db"},
		{"redis://db:6379/3", "redis://db:6379/3"},
		{"redis://db:6379", "redis://db:6379"},
		{"rediss://ada:p%40ss@db.internal:6380/0", "rediss://db.internal:6380/0"},
		{"redis://:pass@[::1]:6379/0", "redis://[::1]:6379/0"},
		{"redis+cluster://u:p@a:7000,b:7001,10.0.0.3:7002", "redis+cluster://a:7000,b:7001,10.0.0.3:7002"},
		{"redis+sentinel://u:p@a:26379,b:26379/main/2", "redis+sentinel://a:26379,b:26379/main/2"},
		{"redis+sentinel://a:26379/main", "redis+sentinel://a:26379/main"},
		{"rediss+cluster://u:p@a:7000,b:7001", "rediss+cluster://a:7000,b:7001"},
		{"rediss+sentinel://u:p@a:26379/main/1", "rediss+sentinel://a:26379/main/1"},
		{"redis://u:p@db:6379/0?replicas=2&durable=no", "redis://db:6379/0"},
		{"redis+cluster://a:7000?replicas=1", "redis+cluster://a:7000"},
		{"redis+sentinel://u:p@a:26379/main?sentinel_user=w&sentinel_password=p%40ss", "redis+sentinel://a:26379/main"},
		{"", ""},
		{"nod.db", ""},
		{"sqlite:", ""},
		{"sqlite://nod.db", ""},
		{"sqlite::memory:", ""},
		{"sqlite:~/nod.db", ""},
		{"sqlite:nod.db?mode=ro", ""},
		{"postgres://db:5432/x", ""},
		{"redis://", ""},
		{"redis://db", ""},
		{"redis://db:0", ""},
		{"redis://db:66000", ""},
		{"redis://a:1,b:2/0", ""},
		{"redis://db:6379/x", ""},
		{"redis://db:6379/0?x=y", ""},
		{"redis://db:6379/0?replicas=many", ""},
		{"redis://db:6379/0?replicas=-1", ""},
		{"redis://db:6379/0?durable=maybe", ""},
		{"redis://db:6379/0?sentinel_password=p", ""},
		{"redis+sentinel://a:1/main?sentinel_password=p@ss", ""},
		{"redis+sentinel://a:1/main?sentinel_password=%zz", ""},
		{"rediss+magic://a:1", ""},
		{"redisss://db:1", ""},
		{"redis://u:p?ss@db:6379/0", ""},
		{"redis://u:p@ss@db:6379/0", ""},
		{"redis://u:p%zz@db:6379/0", ""},
		{"redis+cluster://a:1,b:2/1", ""},
		{"redis+cluster://a:1,,b:2", ""},
		{"redis+sentinel://a:1", ""},
		{"redis+sentinel://a:1/main/x", ""},
		{"redis+magic://a:1", ""},
	} {
		c, err := load("store: '"+test.text+"'", nil)
		switch {
		case test.show == "" && err == nil:
			t.Errorf("%s: no mistake", test.text)
		case test.show != "" && err != nil:
			t.Errorf("%s: %v", test.text, err)
		case test.show != "" && c.Store.String() != test.show:
			t.Errorf("%s: prints as %s, want %s", test.text, c.Store, test.show)
		case test.show != "" && c.Store.Kind == Redis && c.Store.URL.Reveal() != test.text:
			t.Errorf("%s: the URL is %s", test.text, c.Store.URL.Reveal())
		}
	}
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]Amount{
		"200000": {Tokens: 200000}, "200_000": {Tokens: 200000}, "$5": {Money: 5}, "$0.25": {Money: 0.25},
		"0": {}, "-1": {}, "$0": {}, "$-1": {}, "$": {}, "5$": {}, "$NaN": {}, "$Inf": {}, "$0x1": {}, "1.5": {}, "": {},
	} {
		var got Amount
		if problem := got.SetText(text); (problem == "") == want.IsZero() || got != want {
			t.Errorf("%s: got %+v, %q; want %+v", text, got, problem, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "1h30m": 90 * time.Minute, "0": 0, "1.5s": 1500 * time.Millisecond,
		"30": -1, "-1s": -1, "30d": -1, "": -1, "99999999999h": -1,
	} {
		got, problem := duration(text)
		if (problem == "") != (want >= 0) || problem == "" && got != want {
			t.Errorf("%s: got %s, %q; want %s", text, got, problem, want)
		}
	}
}

func TestListenAndHosts(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:8080": true, ":8080": true, "[::1]:80": true, "localhost:0": true,
		"8080": false, "localhost": false, "localhost:http": false, "a b:80": false, "::1:80": false, "x:99999": false,
	} {
		if problem := listenProblem(address); (problem == "") != ok {
			t.Errorf("listen %s: got %q, want ok %v", address, problem, ok)
		}
	}
	for pattern, ok := range map[string]bool{
		"example.com": true, "*.example.com": true, "*": true, "10.0.0.0/8": true, "10.0.0.1": true, "[::1]": true, "fd00::/8": true,
		"https://example.com": false, "example.com:80": false, "a/b": false, "": false, "a b": false, ".": false,
	} {
		if problem := hostPatternProblem(pattern); (problem == "") != ok {
			t.Errorf("host %s: got %q, want ok %v", pattern, problem, ok)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"timeout", "max_steps", "stream", "top_p", "ask"}
	for written, want := range map[string]string{
		"timeuot": "timeout", "maxsteps": "max_steps", "max-steps": "max_steps", "Stream": "stream", "topp": "top_p", "aks": "ask",
		"colour": "", "": "", strings.Repeat("x", 1000): "", "zz": "",
	} {
		if got := nearest(written, known); got != want {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
	if diff := cmp.Diff([]string{"a", "a or b", "a, b or c"}, []string{choices([]string{"a"}), choices([]string{"a", "b"}), choices([]string{"a", "b", "c"})}); diff != "" {
		t.Error(diff)
	}
}
