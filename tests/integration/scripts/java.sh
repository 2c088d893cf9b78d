# Java: java.io, java.nio (CREATE_NEW, DELETE_ON_CLOSE, SPARSE), temporary files, channels, mapping.
# varying: home/.java*
cat >"$TMPDIR/Files.java" <<'END'
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.nio.file.attribute.*;
import java.util.*;
import static java.nio.file.StandardOpenOption.*;

class Main {
    public static void main(String[] args) throws Exception {
        try (FileWriter writer = new FileWriter("written")) { writer.write("text"); }
        try (FileWriter writer = new FileWriter("written", true)) { writer.write(" more"); }
        try (RandomAccessFile file = new RandomAccessFile("random", "rw")) {
            file.seek(1 << 20); file.writeInt(42);
        }
        File made = new File("made");
        System.out.println(made.createNewFile() + " " + made.createNewFile());
        Path path = Path.of("new");
        Files.writeString(path, "text", CREATE_NEW, WRITE);
        try { Files.writeString(path, "text", CREATE_NEW, WRITE); }
        catch (FileAlreadyExistsException error) { System.out.println(error); }
        try { Files.writeString(Path.of("missing/x"), "text"); }
        catch (NoSuchFileException error) { System.out.println(error); }
        Files.writeString(path, "appended", CREATE, APPEND);
        var bits = PosixFilePermissions.fromString("rw-r-----");
        var mode = PosixFilePermissions.asFileAttribute(bits);
        var options = EnumSet.of(CREATE_NEW, WRITE, SPARSE);
        try (var channel = Files.newByteChannel(Path.of("mode"), options, mode)) {
            channel.write(ByteBuffer.wrap(new byte[10]));
        }
        try (var channel = FileChannel.open(Path.of("gone"), CREATE, WRITE, DELETE_ON_CLOSE)) { }
        try (var channel = FileChannel.open(Path.of("mapped"), CREATE, READ, WRITE)) {
            channel.map(FileChannel.MapMode.READ_WRITE, 0, 65536).put(40000, (byte) 1);
        }
        Path temp = Files.createTempFile(Path.of("."), "pre", ".tmp");
        System.out.println(Files.getPosixFilePermissions(temp));
        Files.move(temp, Path.of("moved"), StandardCopyOption.ATOMIC_MOVE);
        File old = File.createTempFile("old", null, new File("home")); old.delete();
        Files.copy(path, Path.of("copied"), StandardCopyOption.COPY_ATTRIBUTES);
        var builder = new ProcessBuilder("echo", "redirected");
        System.out.println(builder.redirectOutput(new File("process")).start().waitFor());
        List<Thread> threads = new ArrayList<>();
        int[] winners = {0};
        for (int i = 0; i < 16; i++) {
            threads.add(new Thread(() -> {
                try {
                    if (new File("raced").createNewFile())
                        synchronized (winners) { winners[0]++; }
                } catch (IOException error) { System.out.println(error); }
            }));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("winners: " + winners[0]);
    }
}
END
java -XX:-UsePerfData -Xshare:auto -Xmx256m "$TMPDIR/Files.java"
