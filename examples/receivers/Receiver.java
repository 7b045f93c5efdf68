// Receives signed callbacks of WangTimer, with Java's own classes alone (Java 17).
//
//     WEBHOOK_SECRET="whsec_..." java Receiver.java 8000

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Receiver {
    private static final long TOLERANCE_S = 300;
    private static final int MOST_BODY_BYTES = 1 << 20;
    private static final int MOST_SEEN = 100_000;

    // Several, divided by spaces, while one replaces another.
    private final byte[][] keys = Stream.of(System.getenv("WEBHOOK_SECRET").trim().split(" +"))
        .map(secret -> Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")))
        .toArray(byte[][]::new);
    private final Map<String, Boolean> seen = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> oldest) {
            return size() > MOST_SEEN;
        }
    };

    private boolean isSigned(Headers headers, byte[] body) throws GeneralSecurityException {
        String id = first(headers, "webhook-id");
        String timestamp = first(headers, "webhook-timestamp");
        if (!timestamp.matches("[0-9]{1,15}")) {
            return false;
        }
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) > TOLERANCE_S) {
            return false;
        }
        boolean found = false;
        for (byte[] key : keys) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
            byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
            for (String signature : first(headers, "webhook-signature").split(" ")) {
                found |= MessageDigest.isEqual(expected, signature.getBytes(UTF_8));
            }
        }
        return found;
    }

    // Put your work here. Better: store the id and what the work does in one transaction of your database.
    private void act(String id, byte[] body) {
        System.out.println("acted on " + id);
    }

    private int answer(HttpExchange exchange) throws IOException, GeneralSecurityException {
        byte[] body = exchange.getRequestBody().readNBytes(MOST_BODY_BYTES + 1);
        if (!first(exchange.getRequestHeaders(), "content-length").equals(String.valueOf(body.length))) {
            return 400; // cut off, or too long
        }
        if (!isSigned(exchange.getRequestHeaders(), body)) {
            return 401;
        }
        String id = first(exchange.getRequestHeaders(), "webhook-id");
        synchronized (seen) { // one at a time: simple, and no firing is acted on twice at once
            if (!seen.containsKey(id)) {
                act(id, body);
                seen.put(id, true);
            }
        }
        return 204;
    }

    private void handle(HttpExchange exchange) throws IOException {
        int status = 500; // the call comes again
        try {
            status = answer(exchange);
        } catch (GeneralSecurityException | RuntimeException failed) {
            System.err.println(failed);
        } finally {
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        }
    }

    private static String first(Headers headers, String name) {
        String value = headers.getFirst(name);
        return value == null ? "" : value;
    }

    public static void main(String[] arguments) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        Receiver receiver = new Receiver();
        server.createContext("/", receiver::handle);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println("listening on " + server.getAddress().getPort());
    }
}
