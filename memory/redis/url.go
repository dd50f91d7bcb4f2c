package redis

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// address is a store's parsed URL.
type address struct {
	cluster  bool
	tls      bool
	hosts    []string // host:port
	master   string   // set: the hosts are sentinels
	db       int
	user     string
	password string

	sentinelUser, sentinelPassword string
	replicas                       int  // -1: one, if there are any
	lossy                          bool // a server that may lose its last writes is good enough
}

// errURL describes the URLs. The URL itself is never part of an error, since
// it may hold a password.
var errURL = errors.New("write redis://[user:pass@]host:port/db, rediss://…, " +
	"redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/MASTER/db (rediss+… for TLS), " +
	"and after it, if need be, ?replicas=N, ?durable=no, ?sentinel_user=…&sentinel_password=… with % for what a URL can't hold")

// parseURL reads the URLs of the configuration. The standard parser can't: several
// hosts are no URL, and its errors quote the input.
func parseURL(s string) (address, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return address{}, fmt.Errorf("read redis URL: no scheme: %w", errURL)
	}
	a := address{replicas: -1}
	hosts := rest
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		var err error
		if a.user, a.password, err = userInfo(rest[:i]); err != nil {
			return address{}, err
		}
		hosts = rest[i+1:]
	}
	hosts, query, _ := strings.Cut(hosts, "?")
	hosts, path, _ := strings.Cut(hosts, "/")
	kind, port := strings.TrimPrefix(strings.TrimPrefix(scheme, "rediss"), "redis"), "6379"
	a.tls = strings.HasPrefix(scheme, "rediss")
	err := a.query(query)
	switch {
	case err != nil:
	case !strings.HasPrefix(scheme, "redis"):
		err = errors.New("unknown scheme")
	case kind == "" && strings.Contains(hosts, ","):
		err = errors.New("several hosts")
	case kind == "":
		a.db, err = database(path)
	case kind == "+cluster":
		a.cluster = true
		if strings.Trim(path, "/") != "" {
			err = errors.New("a cluster has no database number")
		}
	case kind == "+sentinel":
		port = "26379"
		err = a.sentinel(path)
	default:
		err = errors.New("unknown scheme")
	}
	if err == nil {
		a.hosts, err = hostList(hosts, port)
	}
	if err != nil {
		return address{}, fmt.Errorf("read redis URL: %w: %w", err, errURL)
	}
	return a, nil
}

func userInfo(s string) (user, password string, err error) {
	user, password, _ = strings.Cut(s, ":")
	user, err1 := url.PathUnescape(user)
	password, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return "", "", errors.New("read redis URL: user or password is badly escaped: write % as %25")
	}
	return user, password, nil
}

// query reads the part after the question mark.
func (a *address) query(s string) error {
	values, err := url.ParseQuery(s)
	if err != nil {
		return errors.New("what is behind the ? is badly escaped: write % as %25")
	}
	for name := range values {
		switch v := values.Get(name); name {
		case "replicas":
			if a.replicas, err = strconv.Atoi(v); err != nil || a.replicas < 0 {
				return errors.New("replicas is no number")
			}
		case "durable":
			if v != "yes" && v != "no" {
				return errors.New("durable is neither yes nor no")
			}
			a.lossy = v == "no"
		case "sentinel_user":
			a.sentinelUser = v
		case "sentinel_password":
			a.sentinelPassword = v
		default:
			return errors.New("an unknown name behind the ?")
		}
	}
	return nil
}

func (a *address) sentinel(path string) (err error) {
	var db string
	a.master, db, _ = strings.Cut(path, "/")
	if a.master == "" {
		return errors.New("no name of a master")
	}
	a.db, err = database(db)
	return err
}

func database(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, "/"))
	if err != nil || n < 0 {
		return 0, errors.New("the database is no number")
	}
	return n, nil
}

func hostList(s, port string) ([]string, error) {
	var hosts []string
	for h := range strings.SplitSeq(s, ",") {
		if h == "" {
			return nil, errors.New("an empty host")
		}
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		switch _, p, err := net.SplitHostPort(h); {
		case err != nil:
			return nil, errors.New("a host that is none")
		case strings.Trim(p, "0123456789") != "":
			return nil, errors.New("a port that is no number")
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// client makes a client that tries each call once: [link.retry] decides on repetitions.
// Errors come soon if a server is down.
func (a address) client(opts Options) redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs: a.hosts, MasterName: a.master, IsClusterMode: a.cluster, DB: a.db,
		Username: a.user, Password: a.password,
		SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, DialerRetries: 1,
		DialTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second,
		ContextTimeoutEnabled: true,
		PoolSize:              64, PipelinePoolSize: -1, ConnMaxIdleTime: 5 * time.Minute,
		FailingTimeoutSeconds: 1, Dialer: opts.Dial,
	}
	if a.tls {
		o.TLSConfig = a.tlsConfig(opts.TLS)
	}
	return redis.NewUniversalClient(o)
}

func (a address) tlsConfig(config *tls.Config) *tls.Config {
	config = cmp.Or(config, &tls.Config{MinVersion: tls.VersionTLS12}).Clone()
	if host, _, _ := net.SplitHostPort(a.hosts[0]); len(a.hosts) == 1 && config.ServerName == "" {
		config.ServerName = host
	}
	return config
}
