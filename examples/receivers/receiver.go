// Receives signed callbacks of WangTimer, with Go's standard library alone.
//
//	WEBHOOK_SECRET="whsec_..." go run receiver.go 8000
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	toleranceS    = 300
	mostBodyBytes = 1 << 20
	mostSeen      = 100_000
)

// Several, divided by spaces, while one replaces another.
func readKeys(secrets string) [][]byte {
	var keys [][]byte
	for _, secret := range strings.Fields(secrets) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			log.Fatal("WEBHOOK_SECRET: ", err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		log.Fatal("WEBHOOK_SECRET is not set")
	}
	return keys
}

type receiver struct {
	keys  [][]byte
	lock  sync.Mutex
	seen  map[string]bool
	order []string
}

func (r *receiver) isSigned(header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	sentAt, err := strconv.ParseInt(timestamp, 10, 64)
	if off := time.Now().Unix() - sentAt; err != nil || off > toleranceS || off < -toleranceS {
		return false
	}
	found := false
	for _, key := range r.keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, signature := range strings.Fields(header.Get("webhook-signature")) {
			found = hmac.Equal(expected, []byte(signature)) || found
		}
	}
	return found
}

// Put your work here. Better: store the id and what the work does in one transaction of your database.
func act(id string, _ []byte) error {
	fmt.Println("acted on", id)
	return nil
}

func (r *receiver) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(answer, request.Body, mostBodyBytes))
	if err != nil { // cut off, or too long
		answer.WriteHeader(http.StatusBadRequest)
		return
	}
	if !r.isSigned(request.Header, body) {
		answer.WriteHeader(http.StatusUnauthorized)
		return
	}
	id := request.Header.Get("webhook-id")
	r.lock.Lock() // one at a time: simple, and no firing is acted on twice at once
	defer r.lock.Unlock()
	if !r.seen[id] {
		if act(id, body) != nil {
			answer.WriteHeader(http.StatusInternalServerError) // the call comes again
			return
		}
		r.seen[id] = true
		r.order = append(r.order, id)
		if len(r.order) > mostSeen {
			delete(r.seen, r.order[0])
			r.order = r.order[1:]
		}
	}
	answer.WriteHeader(http.StatusNoContent)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{
		Handler:     &receiver{keys: readKeys(os.Getenv("WEBHOOK_SECRET")), seen: map[string]bool{}},
		ReadTimeout: 30 * time.Second,
	}
	log.Fatal(server.Serve(listener))
}
