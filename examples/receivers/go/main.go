// A receiver of webhooks in Go: verify first, remember the id, answer soon.
//
//	WEBHOOK_SECRET=whsec_… PORT=8000 go run .
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const maxBody = 1 << 20

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal("WEBHOOK_SECRET is not a secret: ", err)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, receiver(webhook)))
}

func receiver(webhook *standardwebhooks.Webhook) http.HandlerFunc {
	var seen sync.Map // yours: a unique column in your database, written with what the event changes
	return func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBody))
		// Over the bytes as they came: JSON that was read and written again has other bytes.
		if err != nil || webhook.Verify(body, request.Header) != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		id := request.Header.Get("webhook-id")
		if _, again := seen.LoadOrStore(id, true); !again { // the same event may come more than once
			fmt.Println("received", request.Header.Get("webhook-event-type"), id)
		}
		response.WriteHeader(http.StatusNoContent)
	}
}
