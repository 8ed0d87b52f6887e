// ARX beside ours, for benchmarks.peers: java -cp ARX.jar:. Arx FOLDER QUASI,QUASI,... K SUPPRESSION RELEASE FIGURES
//
// Like drivers.py: the call is timed on data that is loaded, and again in the same process where it is quick; the job
// is from the start of the process to the written release. ARX is asked for what ours is: the least loss (GLM), each
// level of a hierarchy counting by the values under it, generalization and suppression alike.

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class Arx {
    private static final double QUICK = 2.0;
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0];
        String[] quasi = arguments[1].split(",");
        int k = Integer.parseInt(arguments[2]);
        double suppression = Double.parseDouble(arguments[3]);
        String figures = "";
        for (boolean again : new boolean[] {false, true}) {
            Data data = load(folder, quasi);
            long wall = System.nanoTime();
            double busy = processor();
            ARXResult result = anonymize(data, k, suppression);
            double call = (System.nanoTime() - wall) / 1e9;
            String called = String.format(Locale.ROOT, "\"call\": %f, \"call processor\": %f", call, processor() - busy);
            if (!again) {
                if (!result.isResultAvailable()) {
                    throw new IllegalStateException("ARX found no release");
                }
                save(result.getOutput(false), quasi, Path.of(arguments[4]));
                double job = (System.currentTimeMillis() - ManagementFactory.getRuntimeMXBean().getStartTime()) / 1e3;
                figures = String.format(
                    Locale.ROOT, "\"job\": %f, \"job processor\": %f, \"peak MB\": %f", job, processor(), peak());
            }
            Files.writeString(Path.of(arguments[5]), "{" + called + ", " + figures + "}");
            if (call > QUICK) {
                break;
            }
        }
    }

    private static Data load(String folder, String[] quasi) throws Exception {
        Data data = Data.create(folder + "/table.csv", StandardCharsets.UTF_8, ',');
        DataHandle handle = data.getHandle();
        for (int column = 0; column < handle.getNumColumns(); column++) {
            data.getDefinition().setAttributeType(handle.getAttributeName(column), AttributeType.INSENSITIVE_ATTRIBUTE);
        }
        for (String name : quasi) {
            String file = folder + "/" + name + ".csv";
            data.getDefinition().setAttributeType(
                name, AttributeType.Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
        }
        return data;
    }

    private static ARXResult anonymize(Data data, int k, double suppression) throws Exception {
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(k));
        asked.setSuppressionLimit(suppression);
        asked.setQualityModel(Metric.createLossMetric(0.5, Metric.AggregateFunction.ARITHMETIC_MEAN));
        return new ARXAnonymizer().anonymize(data, asked);
    }

    /** Write what is published of the quasi-identifiers: a row that ARX suppressed, all its labels the root's, is gone. */
    private static void save(DataHandle output, String[] quasi, Path path) throws Exception {
        int[] columns = Arrays.stream(quasi).mapToInt(output::getColumnIndexOf).toArray();
        List<String> lines = new ArrayList<>();
        for (int row = 0; row < output.getNumRows(); row++) {
            List<String> cells = new ArrayList<>();
            for (int column : columns) {
                cells.add(output.getValue(row, column));
            }
            if (cells.stream().anyMatch(cell -> !cell.equals("*"))) {
                lines.add(String.join(",", cells));
            }
        }
        lines.add(0, String.join(",", quasi));
        Files.write(path, lines);
    }

    private static double processor() {
        return SYSTEM.getProcessCpuTime() / 1e9;
    }

    private static double peak() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM")) {
                return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
            }
        }
        return 0;
    }
}
