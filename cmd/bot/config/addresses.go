package config

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// isNumber says whether a text is a small whole number in plain digits.
func isNumber(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?$`)

// isHostPort says whether an address has a host, a name or an IP address, and
// a port from 1 on.
func isHostPort(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isNumber(port) || port == "0" {
		return false
	}
	return hostName.MatchString(host) || net.ParseIP(host) != nil
}

// listenProblem names the mistake in an address to listen at. The host may be absent,
// and port 0 means any free one.
func listenProblem(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isNumber(port) || host != "" && !hostName.MatchString(host) && net.ParseIP(host) == nil {
		return "must be host:port, such as 127.0.0.1:8080"
	}
	return ""
}

// loopbackProblem names the mistake in an address for this machine alone.
func loopbackProblem(address string) string {
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if err != nil || !isNumber(port) || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "must be a loopback address, such as 127.0.0.1:8081; reach it from elsewhere through a tunnel"
	}
	return ""
}

// urlProblem names the mistake in the address of an HTTP API.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return "must be a URL that begins with https:// or http://, and a host"
	case u.User != nil:
		return "has a user or password in it; remove that, as addresses end up in logs"
	case u.Fragment != "":
		return "has a # in it; remove it and what follows"
	}
	return ""
}

// proxyProblem names the mistake in the address of a proxy, which may have a password.
func proxyProblem(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery+u.Fragment != "" {
		return "must be the address of an HTTP proxy, such as http://proxy.internal:3128"
	}
	return ""
}

// namesHosts matches patterns that say whose hosts they are.
var namesHosts = regexp.MustCompile(`^[^*/]+$|\.[^.*/]+\.[^.*/]+$`)

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9*]([A-Za-z0-9*._-]*[A-Za-z0-9*])?$`)

// hostPatternProblem names the mistake in a pattern of hosts.
func hostPatternProblem(pattern string) string {
	bare := strings.Trim(pattern, "[]")
	if hostPattern.MatchString(pattern) || net.ParseIP(bare) != nil {
		return ""
	}
	if _, _, err := net.ParseCIDR(pattern); err == nil {
		return ""
	}
	return "must be a host without scheme, port or path, such as example.com or *.example.com"
}
