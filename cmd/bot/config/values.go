package config

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"nod/setting"
)

// texter is a type that reads itself from the text of a scalar. A problem names the
// right form, without repeating the text.
type texter interface {
	SetText(text string) (problem string)
}

// Amount is a limit: a number of tokens, or an amount of money in the currency
// of llm.prices. The zero Amount is no limit.
type Amount struct {
	Tokens int64
	Money  float64
}

// IsZero says that there is no limit.
func (a Amount) IsZero() bool { return a == Amount{} }

const wantAmount = `must be more than 0: write a number of tokens such as 200000, or money in quotes such as "$5"`

// SetText reads an amount.
func (a *Amount) SetText(text string) string {
	if money, ok := strings.CutPrefix(text, "$"); ok {
		n, err := strconv.ParseFloat(money, 64)
		if err != nil || !(n > 0) || math.IsInf(n, 0) || strings.ContainsAny(money, "+xXpP_") {
			return wantAmount
		}
		*a = Amount{Money: n}
		return ""
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || n <= 0 {
		return wantAmount
	}
	*a = Amount{Tokens: n}
	return ""
}

// Day is a date in UTC, such as 2026-12-31; the zero Day is none.
type Day string

// SetText reads a day.
func (d *Day) SetText(text string) string {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return "must be a day, such as 2026-12-31"
	}
	*d = Day(text)
	return ""
}

// End is the moment at which the day is over; of none it is the zero Time.
func (d Day) End() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1)
}

// Shards is a number of gateway connections; 0 leaves it to Discord.
type Shards int

// SetText reads a number of connections.
func (s *Shards) SetText(text string) string {
	if text == "auto" {
		*s = 0
		return ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<14 {
		return "must be auto or a whole number from 1 on"
	}
	*s = Shards(n)
	return ""
}

// duration reads a length of time. A bare 0 is one; any other number needs its
// unit, as nobody remembers whether it was seconds.
func duration(text string) (time.Duration, string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, "must be a length of time: write a number and a unit (h, m or s), such as 30m, 90s or 12h"
	}
	if d < 0 {
		return 0, "must not be negative"
	}
	return d, ""
}

// StoreKind is the program that keeps the threads.
type StoreKind string

// The kinds of store.
const (
	SQLite StoreKind = "sqlite"
	Redis  StoreKind = "redis"
)

// Store says where threads are kept. It prints without user and password.
type Store struct {
	Kind StoreKind
	Path string         // of SQLite's file, absolute
	URL  setting.Secret // of Redis, in any of its four forms
	show string
}

// String gives the store for people: the place, and no credentials.
func (s Store) String() string { return s.show }

// GoString is the same, for %#v.
func (s Store) GoString() string { return strconv.Quote(s.show) }

// LogValue is the same, for log/slog.
func (s Store) LogValue() slog.Value { return slog.StringValue(s.show) }

// MarshalText is the same, for JSON and YAML.
func (s Store) MarshalText() ([]byte, error) { return []byte(s.show), nil }

const wantStore = "must be sqlite:PATH, redis://[user:pass@]host:port/db, redis+cluster://host:port,host:port or " +
	"redis+sentinel://host:port,host:port/MASTER/db; rediss instead of redis is for TLS"

// ParseStore reads the value of `store`; a relative path is relative to the working
// directory.
func ParseStore(text string) (Store, error) {
	var s Store
	if problem := s.SetText(text); problem != "" {
		return s, errors.New(problem)
	}
	return s, nil
}

// SetText reads where threads are kept.
func (s *Store) SetText(text string) string {
	if path, ok := strings.CutPrefix(text, "sqlite:"); ok {
		if path == "" || strings.HasPrefix(path, "//") || strings.HasPrefix(path, ":") || strings.ContainsAny(path, "?#\x00") {
			return "must name a file: write sqlite:PATH, such as sqlite:nod.db"
		}
		if strings.HasPrefix(path, "~") {
			return "must be a path without ~; write ${HOME} for your home"
		}
		*s = Store{Kind: SQLite, Path: path, show: text}
		return ""
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return wantStore
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && !escaped(rest[:at]) {
		return "has a user or password with characters that a URL can't hold: percent-encode them (@ is %40, / is %2F, ? is %3F, # is %23, : is %3A)"
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	hosts := authority[at+1:]
	if problem := cmp.Or(redisURL(scheme, hosts, path), redisQuery(scheme, query)); problem != "" {
		return problem
	}
	show := scheme + "://" + hosts
	if path != "" {
		show += "/" + path
	}
	*s = Store{Kind: Redis, URL: setting.NewSecret(text), show: show}
	return ""
}

// redisURL names the mistake in a Redis URL, apart from its credentials.
func redisURL(scheme, hosts, path string) string {
	switch strings.Replace(scheme, "rediss", "redis", 1) {
	case "redis":
		if strings.Contains(hosts, ",") {
			return "names several hosts: write redis+cluster:// or redis+sentinel:// for that"
		}
		if !isNumber(path) && path != "" {
			return "must end in the number of a database: write host:port/0"
		}
	case "redis+cluster":
		if path != "" && path != "0" {
			return "must name no database: a cluster has only number 0"
		}
	case "redis+sentinel":
		master, db, _ := strings.Cut(path, "/")
		if master == "" || db != "" && !isNumber(db) || strings.ContainsAny(master, "?#@:") {
			return "must name the master and the database: write redis+sentinel://host:port,host:port/MASTER/0"
		}
	default:
		return wantStore
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if !isHostPort(host) {
			return "must name hosts with their ports, such as redis.internal:6379"
		}
	}
	return ""
}

// redisQuery names the mistake in the query of a Redis URL, which may hold a password.
func redisQuery(scheme, query string) string {
	values, err := url.ParseQuery(query)
	if err != nil || strings.ContainsAny(query, "@/?#[]+ ") {
		return "has something behind the ? that a URL can't hold: percent-encode it"
	}
	for name := range values {
		switch value := values.Get(name); {
		case name == "replicas" && !isNumber(value):
			return "must say how many replicas have to have what is kept: write ?replicas=1"
		case name == "durable" && value != "yes" && value != "no":
			return "says with durable whether the server keeps everything on its disk: write ?durable=no, or leave it out"
		case name == "replicas" || name == "durable":
		case (name == "sentinel_user" || name == "sentinel_password") && strings.HasSuffix(scheme, "+sentinel"):
		default:
			return "may have replicas and durable behind the ?, and with sentinels sentinel_user and sentinel_password"
		}
	}
	return ""
}

// escaped says whether credentials are as a URL needs them.
func escaped(credentials string) bool {
	_, err := url.PathUnescape(credentials)
	return !strings.ContainsAny(credentials, "@/?#[] ") && strings.Count(credentials, ":") <= 1 && err == nil
}
